declare module 'jq-web' {
  const jq: Promise<import('./output/format.js').Jq>;
  export default jq;
}
