/** What callers see of the agent definitions: not the prompts, which a child alone needs. */
import type { AgentCatalog } from '../agents/catalog.ts';
import type { AgentDefinition } from '../agents/definition.ts';
import type { DefinitionsView, DefinitionView } from './shepherd.ts';

export function viewCatalog({ agents, problems }: AgentCatalog): DefinitionsView {
  return { agents: agents.map(viewDefinition), problems };
}

function viewDefinition(definition: AgentDefinition): DefinitionView {
  const { name, description, source, path, tools, model, userInvocable } = definition;
  return {
    name,
    description,
    source,
    path,
    ...(tools === undefined ? {} : { tools }),
    ...(model === undefined ? {} : { model }),
    ...(userInvocable ? {} : { userInvocable }),
  };
}
