/** Small files that are what they say they are, with something in them that can be searched for. */

/** A picture of this size; `inside` stands where its pixels would. */
export function png(width: number, height: number, inside = ''): Buffer {
  const head = Buffer.alloc(33)
  head.write('\x89PNG\r\n\x1a\n', 0, 'latin1')
  head.writeUInt32BE(13, 8)
  head.write('IHDR', 12, 'latin1')
  head.writeUInt32BE(width, 16)
  head.writeUInt32BE(height, 20)
  return Buffer.concat([head, Buffer.from(inside)])
}

export const pdf = (pages: number, inside = ''): Buffer =>
  Buffer.from(`%PDF-1.4\n${'<< /Type /Page >>\n'.repeat(pages)}<< /Type /Pages /Count ${pages} >>\n${inside}\n%%EOF`)

/** Mono sound of 16 bits at 8 kHz; silent. */
export function wav(seconds: number): Buffer {
  const file = Buffer.alloc(44 + seconds * 16_000)
  file.write('RIFF', 0, 'latin1')
  file.writeUInt32LE(file.byteLength - 8, 4)
  file.write('WAVEfmt ', 8, 'latin1')
  file.writeUInt32LE(16_000, 28)
  return file
}

export const imagePart = (data: Buffer) => ({ type: 'image', media_type: 'image/png', data: data.toString('base64') })
export const pdfPart = (data: Buffer) => ({
  type: 'pdf',
  media_type: 'application/pdf',
  data: data.toString('base64'),
})
