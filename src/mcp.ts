/** The door `plimsoll/mcp`: tools of Model Context Protocol servers. Apart, so that nobody loads the protocol without using it. */
export { definitionsOf, mcp, type McpServer, type McpSpec, type McpStanding } from './tool/mcp/mcp.shell.ts'
export type { McpTool, McpToolSpec } from './tool/mcp/mcp.ts'
export { isolation } from './tool/mcp/mcp-process.shell.ts'
