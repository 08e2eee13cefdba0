/**
 * The door `plimsoll/testing`: models without a provider, providers without a model, planted faults,
 * and a clock that stands still.
 */
export { MISBEHAVIOUR, type Behaviour, type Exchange } from './misbehaviour.ts'
export {
  type ArrivalLine,
  type EffectLine,
  type EffectProvider,
  type EffectProviderOptions,
  type LogLine,
  type ProviderMode,
  type RequestLine,
  startEffectProvider,
  type Trouble,
} from './effect-provider.ts'
export { countPasses, type FaultAction, faultsFromEnv, parseFaults, type PlantedFault, plantFaults } from './faults.ts'
export { fakeProvider, type FakeProvider, type FakeProviderOptions, type ProviderRequest } from './provider.ts'
export { recorded, type RecordedMessage } from './recorded.ts'
export { scripted, type ScriptedOptions } from './scripted.ts'
export type { Script, ScriptedAnswer, ScriptedCall } from './script.ts'
export { virtualClock, type VirtualClock } from './virtual-clock.ts'
