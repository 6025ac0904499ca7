/** Any JSON value: what crosses the port in either direction. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** A label and a value that a reader needs for a decision, for example "Role" and "reporting". Plain text. */
export interface Fact {
  name: string;
  value: string;
}

/** What a reader can do. */
export type Action =
  /** `url` is a page for people, `api` the address where a program reads the same. */
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
  /** Empty when nothing is left to do. Its decisions have only verdicts that the connector's `verdicts` returns. */
  actions: readonly Action[];
  /** The same key means the same message: a repeat is not delivered twice where the provider can recognize it. */
  idempotencyKey: string;
}

/** Where a message was delivered, in the connector's own shape: all that `revise` needs. No secret. */
export type Receipt = { [key: string]: Json };

/** A request from the provider, as received. Header names are in lower case. */
export interface HookRequest {
  headers: Readonly<Record<string, string>>;
  body: Uint8Array;
}

/** The person who clicked, as verified by the provider. */
export interface HookActor {
  subject: string;
  /** Set only when the provider has verified the address, and only for full members: not for guests or programs. */
  email?: string;
}

/** A decision from a signed request. The same click twice is the same decision, so a repeated request changes nothing. */
export interface HookDecision {
  /** The token of the action. */
  token: string;
  /** The receipt of the message with the button, where the provider names it: a token is valid only in its own message. */
  receipt?: Receipt;
  comment?: string;
  /**
   * Returns who clicked; null for a guest, a program or a person of another organization. May take longer than the
   * reply may take.
   */
  actor(signal: AbortSignal): Promise<HookActor | null>;
  /** Shows a text to the person who clicked, and to no other person. */
  tell?(text: string, signal: AbortSignal): Promise<void>;
}

export interface Received {
  /** The response to the provider, sent within three seconds: status 200 and this object as JSON. */
  reply?: { [key: string]: Json };
  /** Absent for a request that decides nothing, such as the provider's check of the address. */
  decision?: HookDecision;
}

export interface Notifications {
  /** Delivers a message. Throws `Terminal` when this message can never be delivered to this address, `Disabled` when none can. */
  deliver(message: Message, signal: AbortSignal): Promise<Receipt>;
  /**
   * Returns the receipt of a message that an earlier call delivered under the same key although its response was lost, or null.
   * Called before a message is delivered again. Absent where the provider cannot tell.
   */
  find?(message: Pick<Message, 'to' | 'idempotencyKey'>, signal: AbortSignal): Promise<Receipt | null>;
  /** Replaces a delivered message: after a decision, it shows the decision and has no buttons. Absent where nothing can be changed. */
  revise?(receipt: Receipt, message: Message, signal: AbortSignal): Promise<void>;
  /**
   * Verifies a request at `POST /api/v1/hooks/{provider}` by its signature and its age, without a network call. Throws `Terminal`
   * for a request that is not from the provider. Absent where the provider sends no requests, or the configuration accepts none.
   */
  receive?(request: HookRequest, now: Date): Promise<Received>;
}
