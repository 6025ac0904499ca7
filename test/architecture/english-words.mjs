/**
 * The phrases that `npm run lint` rejects in texts, comments, test names and documents, and what to write instead. A pattern is listed
 * when readers of a second language have to read the phrase twice, or when the project has another word for the thing.
 *
 * @type {[pattern: RegExp, instead: string][]}
 */
export const bannedPhrases = [
  [
    /\b(?:(?<!\bas )nobody|somebody|anybody|everybody|whoever|whomever|whatever)\b/i,
    'name the person or the thing: "no approver", "the requester", "in any order"',
  ],
  [/(?<!\bthere )\b(?:is|are|was|were|names?) none\b/i, 'say what is missing or not valid'],
  [/\bnone of ours\b/i, 'say what it is not'],
  [/\bby now\b/i, 'say "already", or what has changed'],
  [/\basked for\b|\b(?:may|can|cannot|could|would|not|who|people|person|they) asks? for\b/i, 'access is requested'],
  [/\bwho asks\b|\basker\b|\ban asking\b/i, 'the person is the requester, what they send is a request'],
  [/\bwhat (?:is|was|were|has been) asked\b/i, 'that is the request'],
  [/\b(?:take|takes|taken|took|taking) away\b/i, 'access is revoked, other things are removed'],
  [
    /\blogg(?:ed|ing) (?:in|out)\b(?! (?:full|the|a|an)\b)|\b(?:to|can|must|not) log (?:in|out)\b/i,
    'people sign in and out',
  ],
  [/\b(?:say|says|said|saying) (?:yes|no)\b/i, 'approvers approve and deny; a function returns true or false'],
  // That a closed port refuses connections is the usual expression, so it is allowed.
  [
    /(?<![.\w])(?<!connections? (?:(?:is|are|was|were) )?)refus(?:e|es|ed|ing|al|als)\b(?! (?:a |every )?connection)/i,
    'requests and input are rejected, approvers deny',
  ],
  [/\btroubles?\b/i, 'it is an error'],
  [/\b(?:does|did|do)(?: not|n[’']t) work\b/i, 'it fails, or is unavailable'],
  [/\bseen to be\b/i, 'it is verified'],
  [/\bunder way\b/i, 'it is in progress, running or open'],
  [/\bto be had\b/i, 'it is available'],
  [/\bbegets?\b/i, 'it creates'],
];

/** Words that end like a verb in the third person and start a sentence without one. */
export const notVerbs = new Set([
  'Access',
  'Always',
  'As',
  'Cookies',
  'Functions',
  'Grants',
  'Ids',
  'Items',
  'Its',
  'Keys',
  'Milliseconds',
  'Options',
  'Percentiles',
  'Perhaps',
  'Programs',
  'Progress',
  'References',
  'Rows',
  'Rules',
  'Seconds',
  'Secrets',
  'Statements',
  'Tasks',
  'This',
  'Times',
  'Verbs',
  'Words',
]);

/** Files that quote people or lists of words, with what they quote. */
export const quoting = {
  'test/architecture/english-words.mjs': 'the banned phrases',
  'packages/core/src/suggestions/lexicon.ts': 'words of requests in any wording',
  'test/english.test.ts': 'the phrases that the rules are tried with',
};
