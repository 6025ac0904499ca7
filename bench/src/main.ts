import { measureElevations } from './elevations.js';

const result = await measureElevations({ together: Number(process.argv[2] ?? 32), milliseconds: 6_000 });
console.log(result);
