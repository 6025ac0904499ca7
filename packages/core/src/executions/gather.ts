/**
 * Returns a function that combines lookups: those that arrive until `pause` has passed share one call, up to `most` at
 * a time. A failed call fails for all of its lookups.
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
