// What the compiler knows of the servers of an app. Types alone.

import type { JsonValue } from '../base/json.js';
import type { DeclaredOutcome, OutcomeWithData, RemoteOutcome, TypedOutcome } from './outcome.js';

/**
 * The servers of the app, by their names in its configuration, and what each of them offers. The file that `outwait types`
 * writes adds to it. While it is empty, every call compiles; then a server that is named by a literal must be one of these,
 * and its tools or skills and their arguments are checked.
 */
// eslint-disable-next-line @typescript-eslint/no-empty-object-type
export interface ServerTypes {}

/** A server of `ServerTypes`. Without tools and skills, nothing but its name is checked. */
export interface ServerType {
  /** MCP: by name. */
  readonly tools?: Readonly<Record<string, TaskType>>;
  /** A2A: by id. */
  readonly skills?: Readonly<Record<string, TaskType>>;
}

/** A tool or a skill of `ServerTypes`. */
export interface TaskType {
  /** Default: any JSON. */
  readonly arguments?: unknown;
  /** What the server says that it gives; see `dataOf`. Default: any JSON. */
  readonly output?: unknown;
}

/** What a server offers. */
export type OfferKind = 'tools' | 'skills';
/** What fits it has no property that must be there. */
// eslint-disable-next-line @typescript-eslint/no-empty-object-type
export type Nothing = {};

/** What the name of a server is inferred from: an editor completes it, and `ServerName` decides. */
// eslint-disable-next-line @typescript-eslint/no-redundant-type-constituents
export type ServerText = keyof ServerTypes | (string & Record<never, never>);

/** `Name` where a call may have it: a server of `ServerTypes`, any while there are none, or a text known at run time only. */
export type ServerName<Name extends string> = string extends Name
  ? Name
  : [keyof ServerTypes] extends [never]
    ? Name
    : Name extends keyof ServerTypes
      ? Name
      : keyof ServerTypes;

/** What is known of a server; `unknown` of one that is not in `ServerTypes`. */
export type ServerTypeOf<Server extends string> = Server extends keyof ServerTypes ? ServerTypes[Server] : unknown;

/** True of a server whose tools and skills are not known. */
export type IsOpen<Server extends string> =
  ServerTypeOf<Server> extends Readonly<Record<'tools', unknown>> | Readonly<Record<'skills', unknown>> ? false : true;

/** The tools, or the skills, of a server. */
export type OffersOf<Server extends string, Of extends OfferKind> =
  ServerTypeOf<Server> extends Readonly<Record<Of, infer Offers>> ? Offers : unknown;

/** What a call of a server may name. */
export type OfferName<Server extends string, Of extends OfferKind, Name extends string> =
  IsOpen<Server> extends true ? Name : string & keyof OffersOf<Server, Of>;

/** True of what a server offers, and of anything where that is not known. */
export type IsOffered<Server extends string, Of extends OfferKind, Name extends string> =
  IsOpen<Server> extends true ? true : OffersOf<Server, Of> extends Readonly<Record<Name, unknown>> ? true : false;

/** The part of a call that holds the arguments: those that the server says it takes, else what JSON can hold. */
export type ArgumentsOf<Server extends string, Of extends OfferKind, Name extends string, Given> =
  OffersOf<Server, Of> extends Readonly<Record<Name, { readonly arguments: infer Wanted }>>
    ? Nothing extends Wanted
      ? { readonly arguments?: Wanted }
      : { readonly arguments: Wanted }
    : IsOffered<Server, Of, Name> extends true
      ? { readonly arguments?: Given & (Of extends 'tools' ? JsonObjectShaped<Given> : JsonShaped<Given>) }
      : // An error would name it beside the arguments that are wanted.
        { readonly arguments?: [Name] extends [never] ? never : unknown };

/**
 * `Value` where JSON can hold it, and a type that it does not fit where JSON cannot. Unlike `JsonValue` it takes an
 * interface, which has no index signature.
 */
export type JsonShaped<Value> = Value extends JsonValue | undefined
  ? Value
  : Value extends ((...args: never) => unknown) | symbol | bigint
    ? never
    : { readonly [Name in keyof Value]: JsonShaped<Value[Name]> };

/** `JsonShaped` for what has to be an object. */
export type JsonObjectShaped<Value> = Value extends string | number | boolean | null | readonly unknown[]
  ? never
  : JsonShaped<Value>;

/** The part of a call that names a tool. */
export type ToolCall<Server extends string, Tool extends string, Given> = {
  readonly tool: OfferName<Server, 'tools', Tool>;
  readonly skill?: never;
  readonly message?: never;
} & ArgumentsOf<Server, 'tools', Tool, Given>;

/** The part of a call that names a skill. */
export type SkillCall<Server extends string, Skill extends string, Given> = {
  readonly skill: OfferName<Server, 'skills', Skill>;
  readonly tool?: never;
  readonly message?: never;
} & ArgumentsOf<Server, 'skills', Skill, Given>;

/** What holds a message, where the server takes one: a server with tools takes none. */
export type MessageCall<Server extends string, Message> =
  ServerTypeOf<Server> extends Readonly<Record<'tools', unknown>> ? never : Message;

/** The outcome of a call. `Data`: what its schema makes of the result, `never` without one. `Tool`: `never` for an agent. */
export type CallOutcome<Server extends string, Tool extends string, Data> = [Data] extends [never]
  ? OffersOf<Server, 'tools'> extends Readonly<Record<Tool, { readonly output: infer Output }>>
    ? DeclaredOutcome<Output>
    : RemoteOutcome
  : [Tool] extends [never]
    ? OutcomeWithData<Data>
    : TypedOutcome<Data>;
