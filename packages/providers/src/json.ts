/** Any JSON value: what crosses the port in either direction. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
