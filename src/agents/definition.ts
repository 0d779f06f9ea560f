/**
 * What kind of agent one is: a Markdown file whose body is the system prompt and whose frontmatter
 * says name, tools and model.
 */

/** Pi's thinking levels; `default` leaves the choice to Pi. */
export type Thinking = 'default' | 'off' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max';

/** Where a definition came from; the order is the order of precedence. */
export type DefinitionSource = 'user' | 'project' | 'bundled';

export interface AgentDefinition {
  readonly name: string;
  readonly description: string;
  /** Allow-list of Pi tools, or `undefined` for Pi's own default set. */
  readonly tools: readonly string[] | undefined;
  /** `provider/model` or a model pattern; `undefined` inherits the Shepherd's model. */
  readonly model: string | undefined;
  readonly thinking: Thinking;
  /** Replace Pi's own system prompt by the body instead of adding the body to it. */
  readonly omitSystemPrompt: boolean;
  readonly omitPiDocumentation: boolean;
  readonly omitContextFiles: boolean;
  readonly userInvocable: boolean;
  /** The Markdown body: the agent's system prompt. */
  readonly body: string;
  readonly source: DefinitionSource;
  readonly path: string;
  /** SHA-256 of the file's bytes, hex: an approval is for these bytes only. */
  readonly contentHash: string;
}
