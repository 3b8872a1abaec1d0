// Types by which the compiler checks calls to the servers of an app.

import type { JsonValue } from '../base/json.js';
import type { DeclaredOutcome, OutcomeWithData, RemoteOutcome, TypedOutcome } from './outcome.js';

/**
 * The servers of the app, by their names in its configuration, and what each of them offers. `outwait types` writes a
 * file that extends it. As long as it is empty, every call compiles. Otherwise a server named by a literal must be one
 * of these, and its tools or skills and their arguments are checked.
 */
// eslint-disable-next-line @typescript-eslint/no-empty-object-type -- the generated file adds the members
export interface ServerTypes {}

/** A server of `ServerTypes`. Without tools and skills, only its name is checked. */
export interface ServerType {
  /** MCP tools, by name. */
  readonly tools?: Readonly<Record<string, TaskType>>;
  /** A2A skills, by id. */
  readonly skills?: Readonly<Record<string, TaskType>>;
}

/** A tool or a skill of `ServerTypes`. */
export interface TaskType {
  /** Type of the arguments. Default: any JSON. */
  readonly arguments?: unknown;
  /** Type that the server declares for the result; see `dataOf`. Default: any JSON. */
  readonly output?: unknown;
}

/** Kinds of what a server offers. */
export type OfferKind = 'tools' | 'skills';
/** A type without properties: it extends every type that has no required property. */
// eslint-disable-next-line @typescript-eslint/no-empty-object-type -- compared with other types, never the type of a value
export type Nothing = {};

/** The type that the name of a server is inferred from, so that editors complete it; `ServerName` checks the name. */
// eslint-disable-next-line @typescript-eslint/no-redundant-type-constituents -- `keyof ServerTypes` is never until a file is generated
export type ServerText = keyof ServerTypes | (string & Record<never, never>);

/**
 * `Name` if a call may use it: a server of `ServerTypes`, any name if that is empty, or a string only known at run
 * time.
 */
export type ServerName<Name extends string> = string extends Name
  ? Name
  : [keyof ServerTypes] extends [never]
    ? Name
    : Name extends keyof ServerTypes
      ? Name
      : keyof ServerTypes;

/** The type of a server; `unknown` if it is not in `ServerTypes`. */
export type ServerTypeOf<Server extends string> = Server extends keyof ServerTypes ? ServerTypes[Server] : unknown;

/** `true` if the tools and skills of the server are not known. */
export type IsOpen<Server extends string> =
  ServerTypeOf<Server> extends Readonly<Record<'tools', unknown>> | Readonly<Record<'skills', unknown>> ? false : true;

/** The tools or the skills of a server. */
export type OffersOf<Server extends string, Of extends OfferKind> =
  ServerTypeOf<Server> extends Readonly<Record<Of, infer Offers>> ? Offers : unknown;

/** The names that a call of a server may use. */
export type OfferName<Server extends string, Of extends OfferKind, Name extends string> =
  IsOpen<Server> extends true ? Name : string & keyof OffersOf<Server, Of>;

/** `true` if the server offers `Name`, or if it is not known what the server offers. */
export type IsOffered<Server extends string, Of extends OfferKind, Name extends string> =
  IsOpen<Server> extends true ? true : OffersOf<Server, Of> extends Readonly<Record<Name, unknown>> ? true : false;

/** The part of a call with the arguments: of the type that the server declares, or else any JSON. */
export type ArgumentsOf<Server extends string, Of extends OfferKind, Name extends string, Given> =
  OffersOf<Server, Of> extends Readonly<Record<Name, { readonly arguments: infer Wanted }>>
    ? Nothing extends Wanted
      ? { readonly arguments?: Wanted }
      : { readonly arguments: Wanted }
    : IsOffered<Server, Of, Name> extends true
      ? { readonly arguments?: Given & (Of extends 'tools' ? JsonObjectShaped<Given> : JsonShaped<Given>) }
      : // Accepts any arguments of an unknown name, so that the compiler reports only the name.
        { readonly arguments?: [Name] extends [never] ? never : unknown };

/**
 * `Value` if JSON can hold it, otherwise a type that it does not fit. Unlike `JsonValue` it accepts an interface, which
 * has no index signature.
 */
export type JsonShaped<Value> = Value extends JsonValue | undefined
  ? Value
  : Value extends ((...args: never) => unknown) | symbol | bigint
    ? never
    : { readonly [Name in keyof Value]: JsonShaped<Value[Name]> };

/** Like `JsonShaped`, but only for objects. */
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

/** The part of a call with a message; `never` for a server with tools, which takes no messages. */
export type MessageCall<Server extends string, Message> =
  ServerTypeOf<Server> extends Readonly<Record<'tools', unknown>> ? never : Message;

/**
 * The outcome of a call. `Data`: the type of its `output` schema, or `never`. `Tool`: the tool, or `never` for an
 * agent.
 */
export type CallOutcome<Server extends string, Tool extends string, Data> = [Data] extends [never]
  ? OffersOf<Server, 'tools'> extends Readonly<Record<Tool, { readonly output: infer Output }>>
    ? DeclaredOutcome<Output>
    : RemoteOutcome
  : [Tool] extends [never]
    ? OutcomeWithData<Data>
    : TypedOutcome<Data>;
