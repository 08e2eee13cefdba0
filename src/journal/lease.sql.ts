// Written by `npm run sql` from lease.sql: change that file.
import type { Statement } from '../db/port.ts'

export interface ClaimParams {
  readonly worker: string
  readonly agents: readonly (string | null)[]
  readonly limit: number
}
export interface ClaimRow {
  readonly tenant: string
  readonly environment: string
  readonly run: string
  readonly epoch: number
}
export const claim: Statement<ClaimParams, ClaimRow> = {
  name: 'lease_claim_d13a0bc8',
  text: `select tenant as "tenant", environment as "environment", run as "run", epoch as "epoch" from plimsoll.claim($1::text, $2::text[], $3::int)`,
  params: ['worker', 'agents', 'limit'],
}

export interface AbandonParams {
  readonly limit: number
}
export interface AbandonRow {
  readonly taken: number
}
export const abandon: Statement<AbandonParams, AbandonRow> = {
  name: 'lease_abandon_8b20b5b9',
  text: `select plimsoll.abandon($1::int) as "taken"`,
  params: ['limit'],
}

export interface ReapParams {
  readonly limit: number
}
export interface ReapRow {
  readonly taken: number
}
export const reap: Statement<ReapParams, ReapRow> = {
  name: 'lease_reap_f790a5f2',
  text: `select plimsoll.reap($1::int) as "taken"`,
  params: ['limit'],
}

export interface LayDownParams {
  readonly ofTenant: string
  readonly ofEnvironment: string
  readonly run: string
  readonly worker: string
  readonly epoch: number
}
export interface LayDownRow {
  readonly taken: number
}
/**
 * without a parameter that names its tenant: the keys of it may be what is missing
 */
export const layDown: Statement<LayDownParams, LayDownRow> = {
  name: 'lease_layDown_42ef92a5',
  text: `select plimsoll.lay_down($1::text, $2::text, $3::text, $4::text, $5::int8) as "taken"`,
  params: ['ofTenant', 'ofEnvironment', 'run', 'worker', 'epoch'],
}

export interface EnlistParams {
  readonly worker: string
  readonly host: string
  readonly pid: number
  readonly leaseMs: number
}
export const enlist: Statement<EnlistParams, never> = {
  name: 'lease_enlist_7fdc0a26',
  text: `insert into plimsoll.worker (id, host, pid, lease_until)
values ($1::text, $2::text, $3::int, now() + $4::int8 * interval '1 millisecond')`,
  params: ['worker', 'host', 'pid', 'leaseMs'],
}

export interface RenewParams {
  readonly leaseMs: number
  readonly worker: string
}
export interface RenewRow {
  readonly id: string
}
export const renew: Statement<RenewParams, RenewRow> = {
  name: 'lease_renew_16d97ed7',
  text: `update plimsoll.worker set lease_until = now() + $1::int8 * interval '1 millisecond'
where id = $2::text and lease_until > now() returning id`,
  params: ['leaseMs', 'worker'],
}

export interface RetireParams {
  readonly worker: string
}
export const retire: Statement<RetireParams, never> = {
  name: 'lease_retire_3534f87f',
  text: `delete from plimsoll.worker where id = $1::text`,
  params: ['worker'],
}

export const forgetWorkers: Statement<Record<never, never>, never> = {
  name: 'lease_forgetWorkers_34d87879',
  text: `delete from plimsoll.worker where lease_until < now() - interval '1 day'`,
  params: [],
}

export interface DrivenParams {
  readonly worker: string
}
export interface DrivenRow {
  readonly tenant: string
  readonly environment: string
  readonly run: string
  readonly epoch: number
  readonly canceled: boolean
  readonly alone: boolean
}
export const driven: Statement<DrivenParams, DrivenRow> = {
  name: 'lease_driven_d09f7412',
  text: `select tenant as "tenant", environment as "environment", run as "run", epoch as "epoch", canceled as "canceled", alone as "alone" from plimsoll.driven($1::text)`,
  params: ['worker'],
}
