// Pictures of few bytes: a PNG made anew with 256 colours.

import { deflateSync } from "node:zlib";

/** The most colours a palette has. */
const COLOURS = 256;

/** A PNG as one with a palette. A page in `context` reads its pixels. */
export async function small(context, png) {
  const page = await context.newPage();
  const { width, height, pixels } = await page.evaluate(async (encoded) => {
    const bytes = Uint8Array.from(atob(encoded), (character) => character.charCodeAt(0));
    const picture = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
    const { width, height } = picture;
    const canvas = new OffscreenCanvas(width, height).getContext("2d");
    canvas.drawImage(picture, 0, 0);
    const { data } = canvas.getImageData(0, 0, width, height);
    let text = "";
    for (let place = 0; place < data.length; place += 32768) text += String.fromCharCode(...data.subarray(place, place + 32768));
    return { width, height, pixels: btoa(text) };
  }, png.toString("base64"));
  await page.close();
  return indexed(width, height, Buffer.from(pixels, "base64"));
}

function indexed(width, height, rgba) {
  const counts = new Map();
  for (let at = 0; at < rgba.length; at += 4) {
    const colour = (rgba[at] << 16) | (rgba[at + 1] << 8) | rgba[at + 2];
    counts.set(colour, (counts.get(colour) || 0) + 1);
  }
  const palette = chosen(counts);
  const known = new Map(palette.map((colour, place) => [colour, place]));
  const nearest = (colour) => {
    let best = 0;
    let least = Infinity;
    palette.forEach((other, place) => {
      const away = distance(colour, other);
      if (away < least) [best, least] = [place, away];
    });
    known.set(colour, best);
    return best;
  };
  const rows = Buffer.alloc((width + 1) * height);
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      const at = 4 * (y * width + x);
      const colour = (rgba[at] << 16) | (rgba[at + 1] << 8) | rgba[at + 2];
      rows[y * (width + 1) + 1 + x] = known.get(colour) ?? nearest(colour);
    }
  }
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 3, 0, 0, 0], 8);
  const colours = Buffer.from(palette.flatMap((colour) => [colour >> 16, (colour >> 8) & 255, colour & 255]));
  return Buffer.concat([Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]), part("IHDR", head), part("PLTE", colours),
    part("IDAT", deflateSync(rows, { level: 9 })), part("IEND", Buffer.alloc(0))]);
}

/** Those of most use: each takes what is close to it along, so that all hues have one. */
function chosen(counts) {
  const left = [...counts].sort(([, a], [, b]) => b - a);
  for (let close = 12; ; close += 12) {
    const palette = [];
    for (const [colour] of left) {
      if (palette.every((other) => distance(colour, other) > close)) palette.push(colour);
      if (palette.length > COLOURS) break;
    }
    if (palette.length <= COLOURS) return palette;
  }
}

function distance(a, b) {
  const of = (shift) => ((a >> shift) & 255) - ((b >> shift) & 255);
  return 2 * of(16) ** 2 + 4 * of(8) ** 2 + of(0) ** 2;
}

function part(name, data) {
  const out = Buffer.alloc(12 + data.length);
  out.writeUInt32BE(data.length, 0);
  out.write(name, 4, "latin1");
  data.copy(out, 8);
  out.writeInt32BE(checksum(out.subarray(4, 8 + data.length)), 8 + data.length);
  return out;
}

/** CRC-32, as PNG has it. */
function checksum(bytes) {
  let sum = -1;
  for (const byte of bytes) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit += 1) sum = (sum >>> 1) ^ (sum & 1 ? 0xedb88320 : 0);
  }
  return ~sum;
}
