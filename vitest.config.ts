import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/debian-tools.ts'],
    // Tests that start Pi share two cores with it: a limit that only a hang reaches.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    maxWorkers: 2,
    reporters: process.env['CI']
      ? ['default', ['json', { outputFile: 'coverage/tests.json' }]]
      : ['default'],
  },
});
