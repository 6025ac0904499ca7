/** Lists of synonyms; the key is their canonical word. */
const same: Readonly<Record<string, string>> = {
  read: 'reader reading readonly view viewer viewing see look looking inspect browse show',
  change: 'changing edit editor editing update updating modify modifying write writer writing',
  database: 'db dbs databases rdbms',
  postgres: 'postgresql pg psql postgre pgsql',
  production: 'prod prd live productive',
  staging: 'stage stg preprod uat preproduction',
  development: 'dev sandbox',
  kubernetes: 'k8s kube kubectl eks gke aks',
  aws: 'amazon arn',
  gcp: 'google googleapis',
  azure: 'microsoft entra',
  repository: 'repo repos repositories',
  secret: 'credential credentials secrets',
  certificate: 'cert certs certificates tls ssl',
  deployment: 'deploy deploys deployed deploying deployments rollout rollouts rollback',
  shell: 'exec ssh terminal bash',
  sudo: 'sudoer sudoers',
  organisation: 'organization organizations org orgs organisations',
  application: 'app apps applications',
  admin: 'administrator administrators administer administrate administration superadmin',
  reboot: 'restart restarting restarted rebooting',
  unlock: 'lock locked lockout unlocked unlocking locking',
  finance: 'financial accounting finances',
  analytics: 'analytic analysis',
  configuration: 'config configure settings setting',
  network: 'vpc vpn',
};

/** Related words; they count for less than the word itself. */
const related: Readonly<Record<string, string>> = {
  postgres: 'database',
  mysql: 'database',
  sql: 'database query',
  table: 'database',
  row: 'database',
  cluster: 'kubernetes',
  kubernetes: 'cluster',
  pod: 'kubernetes',
  git: 'github repository',
  commit: 'push repository',
  source: 'repository',
  code: 'repository',
  vm: 'virtual machine',
  instance: 'machine ec2',
  ec2: 'machine',
  cname: 'dns record',
  bucket: 's3',
  root: 'sudo',
  sudo: 'root',
  linux: 'server',
  invoice: 'billing',
  payment: 'billing',
  sso: 'okta sign',
  login: 'sign',
  patch: 'change',
  fix: 'change',
  correct: 'change',
  check: 'read',
  invite: 'member',
  buy: 'payment',
};

/** The level that a verb requests: 1 to read, 2 to change, 3 to administer. */
const verbs: Readonly<Record<1 | 2 | 3, string>> = {
  1: `read reader view viewer see look check inspect show list get query select browse watch monitor investigate analyse
    analyze review audit auditor examine find search lookup describe fetch download triage readonly reading looking`,
  2: `write writer edit editor change update modify insert delete remove create add fix correct push merge commit load
    append deploy restart reboot stop start roll rollback rollout scale patch issue reset unlock build migrate resize
    upload import clean rename rotate exec shell contributor operator alter drop truncate invite install apply put`,
  3: 'admin superuser root sudo owner own rule fullaccess poweruser',
};

/** Words of level 3 that count only when no other word states a level. */
export const allOfIt: ReadonlySet<string> = new Set(['everything', 'anything', 'full', 'all', 'whole', 'complete']);

/** Things that occur everywhere; they distinguish roles only a little. */
export const common: ReadonlySet<string> = new Set([
  'table',
  'row',
  'data',
  'file',
  'account',
  'group',
  'thing',
  'new',
]);

export const environments: ReadonlySet<string> = new Set(['production', 'staging', 'development']);

/** Words that say nothing about the role: those of any sentence, of any request, and of any error. */
export const silent: ReadonlySet<string> = new Set(
  `a about after again all also am an and another any anybody are as at be because been before being but by can cannot
  could did do does doing done down during each every few for from further had has have having he hello help her here hi
  him his how i if in into is it its just let like make maybe me might more most must my no nor not now of off on once
  only or other our out over please quick really same shall she should since so some somebody someone something somewhere
  still such than thank thanks that the their them then there these they thing this those through till to today tomorrow
  tonight too try trying under until up urgent us use using very want wants was we were what when where which while who
  whose why will with within without would yes you your
  access accesses permission permissions role roles request requests require required need needs needed needing give
  given grant granted allow allowed approve approved approval able get got have having elevate elevation privilege
  privileges right rights temporarily temporary ticket job task work working
  second seconds sec secs minute minutes min mins hour hours hr hrs day days week weeks month months year years half
  quarter couple one two three four five six seven eight nine ten fifteen twenty thirty forty fifty sixty ninety next
  last past ago long max maximum most
  error errors denied deny forbidden unable fatal occurred calling operation authorized authorised authorization
  unauthorized authorizationfailed accessdenied unauthorizedoperation perform performing resource resources failed
  failure exception scope client action command incident reported returned requested url http https server's user users
  namespace api com org io www true false null from`
    .split(/\s+/)
    .filter(Boolean),
);

const canonical = new Map(
  Object.entries(same).flatMap(([word, others]) => others.split(' ').map((other): [string, string] => [other, word])),
);
const levels = new Map(
  Object.entries(verbs).flatMap(([level, words]) =>
    words.split(/\s+/).map((word): [string, number] => [word, Number(level)]),
  ),
);
const associations = new Map(Object.entries(related).map(([word, others]) => [word, others.split(' ')]));

/** Returns the canonical word of a word in lower case, also when it is inflected. */
export function canonicalWord(word: string): string {
  const known = canonical.get(word);
  if (known !== undefined) return known;
  const stem = stemOf(word);
  return canonical.get(stem) ?? stem;
}

/** Returns the level of a word: 1 read, 2 change, 3 administer; undefined when it has none. */
export function levelOf(word: string): number | undefined {
  return levels.get(word) ?? levels.get(stemOf(word)) ?? levels.get(canonicalWord(word));
}

export function relatedWords(word: string): readonly string[] {
  return associations.get(word) ?? [];
}

/** Returns a light stem, which need not be a word. It is the same for the catalog and the text. */
function stemOf(word: string): string {
  if (word.length <= 3) return word;
  if (/ies$/.test(word)) return `${word.slice(0, -3)}y`;
  if (/(?:x|ch|sh|ss)es$/.test(word)) return word.slice(0, -2);
  if (/[^sui]s$/.test(word)) return stemVerb(word.slice(0, -1));
  return stemVerb(word);
}

function stemVerb(word: string): string {
  const bare = /^(.{3,})(?:ing|ed)$/.exec(word)?.[1];
  if (bare === undefined) return word.length > 5 && word.endsWith('e') ? word.slice(0, -1) : word;
  if (/([bdgmnprt])\1$/.test(bare)) return bare.slice(0, -1);
  return bare;
}
