/** Any JSON value: what crosses the port in either direction. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** A label and a value that a reader decides by: "Role", "reporting". Plain text. */
export interface Fact {
  name: string;
  value: string;
}

/** What a reader can do. */
export type Action =
  /** `url` is a page for people, `api` where a program reads the same. */
  | { kind: 'link'; label: string; url: string; api?: string }
  /** A button that decides. The channel sends `token` back in its signed request; the token by itself permits nothing. */
  | { kind: 'decision'; label: string; verdict: Verdict; token: string };

export type Verdict = 'approve' | 'deny';

export interface Message {
  to: string;
  /** What happened, for receivers that are programs: `request.waiting`, `access.active`. */
  kind?: string;
  title: string;
  text: string;
  facts: readonly Fact[];
  /** Empty when nothing is left to do. Decisions only as far as the connector's `verdicts` go. */
  actions: readonly Action[];
  /** The same key is the same message: a repeat is not delivered twice where the provider can tell. */
  idempotencyKey: string;
}

/** Where a message was delivered, in the connector's own shape: all that `revise` needs. No secret. */
export type Receipt = { [key: string]: Json };

/** A request from the provider, as it came. Header names are in lower case. */
export interface HookRequest {
  headers: Readonly<Record<string, string>>;
  body: Uint8Array;
}

/** Who clicked, as the provider vouches for them. */
export interface HookActor {
  subject: string;
  /** Only where the provider verified the address, and only of full members: not of guests or programs. */
  email?: string;
}

/** A decision that came in a signed request. The same click twice is the same decision, so a repeated request changes nothing. */
export interface HookDecision {
  /** The token of the action. */
  token: string;
  /** Of the message that has the button, where the provider says which: a token counts in its own message only. */
  receipt?: Receipt;
  comment?: string;
  /** Asks the provider who clicked; returns null for a guest, a program or a stranger. May take longer than the reply. */
  actor(signal: AbortSignal): Promise<HookActor | null>;
  /** Shows a text to the person who clicked, and to no other person. */
  tell?(text: string, signal: AbortSignal): Promise<void>;
}

export interface Received {
  /** What the provider is answered, within three seconds: status 200 and this object as JSON. */
  reply?: { [key: string]: Json };
  /** Absent for a request that decides nothing, such as the provider's check of the address. */
  decision?: HookDecision;
}

export interface Notifications {
  /** Delivers a message. Throws `Terminal` when this message can never be delivered to this address, `Disabled` when none can. */
  deliver(message: Message, signal: AbortSignal): Promise<Receipt>;
  /**
   * Returns the receipt of what an earlier call delivered under the same key although its answer was lost, or null. Called before a message
   * is delivered again. Absent where the provider cannot tell.
   */
  find?(message: Pick<Message, 'to' | 'idempotencyKey'>, signal: AbortSignal): Promise<Receipt | null>;
  /** Replaces what was delivered: after a decision a message says so and has no buttons. Absent where nothing can be changed. */
  revise?(receipt: Receipt, message: Message, signal: AbortSignal): Promise<void>;
  /**
   * Verifies a request at `POST /api/v1/hooks/{provider}` by its signature and its age, without a network call. Throws `Terminal`
   * for one that is not the provider's. Absent where the provider sends none, or the configuration accepts none.
   */
  receive?(request: HookRequest, now: Date): Promise<Received>;
}
