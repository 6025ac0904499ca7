export interface Whoami {
  id: string;
  email: string;
  name: string;
  groups: string[];
  provider: string;
  expires_at?: string;
}

/** A provider that one can sign in with; `url` is where a browser begins, relative to the server. */
export interface SignInProvider {
  id: string;
  name: string;
  description: string;
  url: string;
}

export interface SignInProviders {
  providers: SignInProvider[];
}

export interface CodeExchange {
  /** From the callback URL. */
  code: string;
  /** The PKCE verifier whose S256 challenge the login began with. */
  code_verifier: string;
}

export interface ExchangedToken {
  token: string;
  expires_at: string;
  user: { email: string; name: string; groups: string[]; provider: string };
}

export interface LoggedOut {
  message: string;
}
