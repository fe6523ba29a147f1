// The arguments of a program. From --direct on, it knows no base URL of loomrec.

const here = process.env.LOOMREC_URL;

export function hideBaseUrls() {
  for (const [name, value] of Object.entries(process.env)) {
    if (`${value}/`.startsWith(`${here}/`)) delete process.env[name];
  }
}

export const words = process.argv.slice(2);
if (words[0] === "--direct") {
  words.shift();
  hideBaseUrls();
}
