/**
 * Rows of text in columns as wide as their widest cell, two spaces apart.
 *
 * @param right the columns that are aligned at the right, as numbers are
 */
export function formatTable(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  right: readonly number[],
): string[] {
  const widths = header.map((title, column) =>
    rows.reduce((width, row) => Math.max(width, (row[column] as string).length), title.length),
  )
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) => {
        const width = widths[column] as number
        return right.includes(column) ? cell.padStart(width) : cell.padEnd(width)
      })
      .join('  ')
      .trimEnd()
  return [line(header), ...rows.map(line)]
}
