// Objects that live for a while, and then are garbage.
const end = Date.now() + 6000;
const kept = new Array(400000);
for (let i = 0; Date.now() < end; ++i)
  for (let k = 0; k < 1000; ++k)
    kept[(i * 1000 + k * 7919) % kept.length] = {i, k, next: [k], text: [i, k]};
