/** The door `plimsoll/objects`: where large results and files are kept, and what a tool returns to have them kept. */
export type { ObjectStore } from './tool/objects.ts'
export { openObjects } from './tool/objects.shell.ts'
export { file } from './tool/raw.ts'
export type { Folder } from './tool/sandbox.ts'
