/** A value inserted into a text. */
export type Inserted = string | number;
