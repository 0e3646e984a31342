import type { Picture } from '../support/document.js'
import { type Image, mapUri, tileUri } from '../support/image.js'
import { drawTile } from './draw-tile.js'
import { GRID, PATCH, TILE, type Tile } from './tile.js'

/** The tile with its patches numbered, and where it lies in the image. */
export async function tilePicture(image: Image, tile: Tile): Promise<Picture> {
  const lines = Array.from({ length: GRID - 1 }, (_, i) => (i + 1) * PATCH)
    .map((at) => `<path d="M${at} 0V${TILE}M0 ${at}H${TILE}"/>`)
    .join('')
  const numbers = Array.from({ length: GRID * GRID }, (_, patch) => {
    const x = (patch % GRID) * PATCH
    const y = Math.floor(patch / GRID) * PATCH
    return `<text x="${x + 0.5}" y="${y + 2}">${patch + 1}</text>`
  }).join('')
  const { width, height } = image
  // A tile that crosses the right edge goes on at the left one.
  const frames = [tile.left, tile.left - width]
    .map((x) => `<rect x="${x}" y="${tile.top}" width="${TILE}" height="${TILE}"/>`)
    .join('')
  const html = `<div class="pictures">
<svg class="tile" role="img" aria-label="The tile and its ${GRID * GRID} patches" viewBox="0 0 ${TILE} ${TILE}"><image href="${await tileUri(tile.image)}" width="${TILE}" height="${TILE}"/>${lines}${numbers}</svg>
<svg class="map" role="img" aria-label="Where the tile lies in the image" viewBox="0 0 ${width} ${height}"><image href="${await mapUri(image)}" width="${width}" height="${height}"/>${frames}</svg>
</div>`
  return { kind: 'picture', html, terminal: (colours) => drawTile(tile, colours) }
}

/** The styles of that picture. */
export const pictureStyle = `
.pictures { display: flex; flex-wrap: wrap; gap: 1rem; align-items: flex-start; }
.tile { flex: 1 1 14rem; max-width: 20rem; }
.tile image { image-rendering: pixelated; }
.tile path { stroke: #fff; stroke-width: .12; opacity: .7; }
.tile text { font-size: 1.7px; fill: #fff; stroke: #000; stroke-width: .35; paint-order: stroke; }
.map { flex: 1 1 20rem; }
.map rect { fill: none; stroke: #ff3b30; stroke-width: 2px; vector-effect: non-scaling-stroke; }
`
