/** `settings`: shows and edits the settings of the user and of the project. */
import { ConfigError } from '../../../errors.ts';
import { editSettings } from '../settings-dialog.ts';
import type { Verb } from './verb.ts';

export const settings: Verb = {
  name: 'settings',
  takes: '',
  summary: 'shows and edits the settings of the user and of this project',
  async run({ ctx, policy: { settingsOf } }) {
    if (settingsOf === undefined) {
      throw new ConfigError(
        'invalid_argument',
        'The settings of this session come from a program.',
      );
    }
    return editSettings(ctx, settingsOf(ctx));
  },
};
