import { elevations } from '../belay/elevate.js';
import { openBelay } from '../belay/open.js';
import { serveContender } from '../compare/serve.js';

await serveContender(async (url, people) => {
  const belay = await openBelay(url, { people });
  const once = elevations(belay);
  return {
    async elevate(index, shape) {
      const person = belay.people[index];
      if (person) await once(person, shape);
    },
    close: belay.close,
  };
});
