/** The package as users get it: packed from a clone, and installed by npm from a registry on the loopback. */
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const exec = promisify(execFile);
export const repository = fileURLToPath(new URL('../../', import.meta.url));

/** All that a clone has and that the package is made of; generated files are not in it. */
const sources = [
  'agents',
  'docs',
  'examples',
  'machines',
  'src',
  'CHANGELOG.md',
  'LICENSE',
  'README.md',
  'package.json',
  'tsconfig.build.json',
  'tsconfig.json',
] as const;

export interface PackedPackage {
  /** Everything of this lies below it. */
  readonly dir: string;
  /** A clone after `npm ci`, built by packing it. */
  readonly clone: string;
  readonly tarball: string;
  /** Answers for the package and for what is in this repository's node_modules, and for nothing else. */
  readonly registry: string;
  /** Runs npm with that registry and a home of its own. */
  npm(args: readonly string[], cwd: string): Promise<string>;
  /** Makes a project with the package in it, as `npm install sheepfold` does; returns its directory. */
  install(name: string, alsoInstalled?: readonly string[]): Promise<string>;
  remove(): Promise<void>;
}

/** Packs a copy: the build of the repository itself belongs to whoever else runs. */
export async function packPackage(): Promise<PackedPackage> {
  const dir = await mkdtemp(join(tmpdir(), 'sheepfold-package-'));
  const clone = join(dir, 'clone');
  await mkdir(clone);
  for (const name of sources) {
    await cp(join(repository, name), join(clone, name), { recursive: true });
  }
  await symlink(join(repository, 'node_modules'), join(clone, 'node_modules'));

  let registry = 'http://127.0.0.1:9';
  const npm = async (args: readonly string[], cwd: string): Promise<string> => {
    const { stdout } = await exec('npm', [...args], { cwd, env: environment(dir, registry) });
    return stdout;
  };
  const packed = await npm(['pack', '--silent', '--pack-destination', dir], clone);
  const tarball = join(dir, packed.trim().split('\n').at(-1) ?? '');
  const server = await startRegistry(tarball);
  registry = server.url;

  return {
    dir,
    clone,
    tarball,
    registry,
    npm,
    async install(name, alsoInstalled = []) {
      const project = join(dir, name);
      await mkdir(project);
      const manifest = { name, private: true, type: 'module' };
      await writeFile(join(project, 'package.json'), JSON.stringify(manifest));
      await npm(['install', '--silent', tarball, ...alsoInstalled], project);
      return project;
    },
    async remove() {
      await server.close();
      await rm(dir, { recursive: true, force: true });
    },
  };
}

function environment(home: string, registry: string): NodeJS.ProcessEnv {
  return {
    // The running Node first: the system's own may be older than the build needs.
    PATH: [dirname(process.execPath), process.env['PATH'] ?? ''].join(delimiter),
    HOME: home,
    LANG: 'C.UTF-8',
    ...npmSettings(home, registry),
  };
}

/** What makes an npm use nothing but the registry, and touch nothing but `home`. */
export function npmSettings(home: string, registry: string): Record<string, string> {
  return {
    npm_config_registry: registry,
    npm_config_cache: join(home, 'npm-cache'),
    npm_config_audit: 'false',
    npm_config_fund: 'false',
    npm_config_update_notifier: 'false',
    // A package that is not there is not there: no second try.
    npm_config_fetch_retries: '0',
  };
}

interface Manifest {
  readonly name: string;
  readonly version: string;
}

/** A registry of what is installed here; each tarball is made when it is asked for. */
async function startRegistry(ours: string) {
  const server = createServer((request, response) => {
    const path = decodeURIComponent(request.url ?? '').slice(1);
    const name = path.replace(/\/-\/.*$/, '');
    const isTarball = name !== path;
    const type = isTarball ? 'application/octet-stream' : 'application/json';
    answer(name, isTarball)
      .then((body) => response.writeHead(200, { 'content-type': type }).end(body))
      .catch((error: unknown) => response.writeHead(404).end(JSON.stringify(String(error))));
  });

  async function answer(name: string, isTarball: boolean): Promise<string | Buffer> {
    const isOurs = name === 'sheepfold';
    const dir = isOurs ? repository : join(repository, 'node_modules', name);
    if (isTarball) return isOurs ? readFile(ours) : pack(dir);
    const manifest = JSON.parse(await readFile(join(dir, 'package.json'), 'utf8')) as Manifest;
    const { version } = manifest;
    const tarball = `${url}/${name}/-/${version}.tgz`;
    return JSON.stringify({
      name,
      'dist-tags': { latest: version },
      versions: { [version]: { ...manifest, dist: { tarball } } },
    });
  }

  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const address = server.address();
  const url = `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`;
  return {
    url,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function pack(dir: string): Promise<Buffer> {
  const args = ['-C', dirname(dir), '-czhf', '-', '--transform', 's,^[^/]*,package,'];
  const { stdout } = await exec('tar', [...args, dir.slice(dirname(dir).length + 1)], {
    encoding: 'buffer',
    maxBuffer: 64 * 1024 * 1024,
  });
  return stdout;
}
