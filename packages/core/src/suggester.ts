/** A role as a suggester may know it: one that the caller may ask for, and nothing of other people in it. */
export interface SuggestibleRole {
  name: string;
  description: string;
  /** The providers at which the caller may have it. */
  providers: readonly { id: string; name: string; description: string; type: string }[];
  /** What it gives there, in the providers' own words. */
  gives: readonly string[];
  /** ISO 8601. */
  maxDuration: string;
  defaultDuration: string;
}

export interface SuggestionQuestion {
  /** What a person wrote or pasted; never more than words. */
  text: string;
  roles: readonly SuggestibleRole[];
  now: Date;
}

/** One answer of a suggester. Nothing in it is believed: `settleSuggestions` holds it against what the caller may ask for. */
export interface SuggestedRole {
  role: string;
  providers?: readonly string[] | undefined;
  /** ISO 8601. */
  duration?: string | undefined;
  /** Above 0; only good for comparing answers to the same question. */
  score: number;
  /** Which words led here. */
  why: readonly string[];
}

/** Finds roles for words, best first; nothing when it does not know. May throw: another one takes over then. */
export interface Suggester {
  suggest(question: SuggestionQuestion, signal: AbortSignal): Promise<readonly SuggestedRole[]>;
}

/** The language model that the configuration names, if any. */
export interface ModelSuggester {
  /** The suggester in force; undefined when none is configured or as many questions as allowed are under way. */
  current(): Suggester | undefined;
  /** How long an answer is waited for, in milliseconds. */
  readonly patience: number;
  /** `not configured`, `healthy`, or `degraded: …`; never throws. The lexical matcher works in every case. */
  health(): Promise<string>;
}
