export const signIn = {
  signIn: 'Sign in',
  lead: 'Request access, have it approved, and hold it for a limited time.',
  youAreSignedInAs: 'You are signed in as ',
  continue: 'Continue',
  orSignInAgain: ', or sign in again or with another system:',
  empty: 'No system to sign in with is configured or available now.',
  continueWith: 'Continue with ',
  signedInUntil: 'Signed in until ',
  signOutOf: 'Sign out of ',
  youAreSignedIn: 'You are signed in',
  signedInAs: 'Signed in as ',
  closeThisPage: '). You can close this page or continue here.',
  home: 'Home',
  signedOut: 'Signed out',
  signInAgain: 'Sign in again',
} as const;

export const device = {
  title: 'Sign in a device',
  lead: 'Enter the code that your own terminal shows. Never enter a code that someone else sent you.',
  code: 'Code',
  reviewDevice: 'Review device',
  question: 'Sign in this device?',
  aProgramWantsToSignIn: 'A program wants to sign in as ',
  consequence: '. It could then do everything that you can do here.',
  unverifiedName: 'Unverified name',
  requested: 'Requested',
  warning:
    'Belay has not checked this name. Continue only if you started this sign-in yourself, just now, and your terminal shows this code. If someone sent you the code or a link by mail, chat or telephone, reject it: attackers steal sign-ins this way.',
  reject: 'Reject sign-in',
  approve: 'Yes, sign in this device',
  done: 'Done',
} as const;

export const program = {
  loopback: 'A program on the same computer as this browser',
  own: 'A page of this server',
  listed: 'A service that an operator of this server has allowed',
  signInAProgram: 'Sign in a program?',
  aProgramWantsToSignIn: 'A program wants to sign in as ',
  consequence: '. It could then do everything that you can do here.',
  program: 'Program',
  address: 'Address',
  unverifiedName: 'Unverified name',
  noName: 'none given',
  requested: 'Requested',
  warning:
    'Belay has not checked this name. Continue only if you started this sign-in yourself, just now, on this computer. If a web page, a mail or a message brought you here, cancel.',
  cancel: 'Cancel',
  signInProgram: 'Sign in program',
} as const;
