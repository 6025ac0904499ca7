/** The people of the demo. Their subjects are stable, so that they stay the same users however often it is started. */
export interface DemoPerson {
  subject: string;
  name: string;
  email: string;
  groups: string[];
  /** Their login role at the target database: the local part of the e-mail, as the provider's `identity` setting has it. */
  databaseRole: string;
}

export const demoPeople: readonly DemoPerson[] = [
  {
    subject: 'demo-rita',
    name: 'Rita Requester',
    email: 'rita@example.com',
    groups: ['engineers'],
    databaseRole: 'rita',
  },
  {
    subject: 'demo-adam',
    name: 'Adam Approver',
    email: 'adam@example.com',
    groups: ['approvers'],
    databaseRole: 'adam',
  },
  { subject: 'demo-bea', name: 'Bea Bystander', email: 'bea@example.com', groups: [], databaseRole: 'bea' },
];
