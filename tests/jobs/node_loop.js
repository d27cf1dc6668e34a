// One thread of JavaScript computes.
const end = Date.now() + 6000;
let number = 1;
while (Date.now() < end)
  for (let i = 0; i < 100000; ++i) number = (number * 48271) % 2147483647;
