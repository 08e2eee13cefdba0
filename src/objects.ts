/** The door `plimsoll/objects`: where large results and files are kept, and what a tool returns to have them kept. */
export type { ObjectStore } from './tool/result/objects.ts'
export { openObjects } from './tool/result/objects.shell.ts'
export { file, withFiles } from './tool/result/raw.ts'
export type { Folder } from './tool/sandbox/sandbox.ts'
