/**
 * Makes a function that answers questions together: those that are put until `pause` is over are answered by one call, up
 * to `most` at once. A call that fails, fails for all of its questions.
 */
export function gather<Question, Answer>(options: {
  pause(): Promise<void>;
  most: number;
  answer(questions: readonly Question[]): Promise<readonly Answer[]>;
}): (question: Question) => Promise<Answer | undefined> {
  const { pause, most, answer } = options;
  let open: { questions: Question[]; answers: Promise<readonly Answer[]> } | undefined;

  function begin() {
    const questions: Question[] = [];
    const group = {
      questions,
      answers: pause().then(() => {
        if (open === group) open = undefined;
        return answer(questions);
      }),
    };
    return group;
  }
  return async (question) => {
    if (open === undefined || open.questions.length === most) open = begin();
    const { questions, answers } = open;
    const place = questions.push(question) - 1;
    return (await answers)[place];
  };
}
