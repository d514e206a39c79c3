// Finds the program `podplan`. No import of vscode, so that tests run without it.

import { constants, promises as fs } from "node:fs";
import * as os from "node:os";
import * as path from "node:path";

export interface Surroundings {
  /** The folders of the workspace. */
  readonly folders: readonly string[];
  readonly trusted: boolean;
  /** The setting podplan.server.path, "" if it is not set. */
  readonly setting: string;
  /** The environment variable PATH. */
  readonly path: string;
  readonly platform: NodeJS.Platform;
}

export interface Program {
  readonly file: string;
  /** PATH for the program: in an untrusted workspace without the folders of the workspace. */
  readonly path: string;
}

/** Why no program was found; the message is for the user. */
export class ProgramNotFound extends Error {}

export async function findProgram(at: Surroundings): Promise<Program> {
  const folders = await Promise.all(at.folders.map(resolveLinks));
  const directories = at.path.split(at.platform === "win32" ? ";" : ":").filter(path.isAbsolute);
  const allowed: string[] = [];
  for (const directory of directories) {
    if (at.trusted || !isInside(await resolveLinks(directory), folders)) {
      allowed.push(directory);
    }
  }
  const searchPath = allowed.join(at.platform === "win32" ? ";" : ":");
  for (const file of listCandidates(at, allowed)) {
    if (!(await isExecutable(file))) {
      continue;
    }
    // A link may lead from the workspace to another folder or back: both ends must be outside of it.
    const isOfWorkspace = isInside(file, at.folders) || isInside(await resolveLinks(file), folders);
    if (at.trusted || !isOfWorkspace) {
      return { file, path: searchPath };
    }
  }
  throw new ProgramNotFound(explain(at));
}

function* listCandidates(at: Surroundings, directories: readonly string[]): Iterable<string> {
  const [scripts, name] = at.platform === "win32" ? ["Scripts", "podplan.exe"] : ["bin", "podplan"];
  if (at.setting) {
    const setting = at.setting.replace(/^~(?=[/\\])/, os.homedir());
    yield* path.isAbsolute(setting) ? [setting] : at.folders.map((folder) => path.join(folder, setting));
    return;
  }
  if (at.trusted) {
    for (const folder of at.folders) {
      yield path.join(folder, ".venv", scripts, name);
      yield path.join(folder, "venv", scripts, name);
    }
  }
  for (const directory of directories) {
    yield path.join(directory, name);
  }
}

function explain(at: Surroundings): string {
  if (at.setting) {
    const reason = at.trusted ? "is no program" : "is no program outside of the folders of this workspace, which is not trusted";
    return `podplan.server.path: ${at.setting} ${reason}`;
  }
  return at.trusted
    ? "podplan is neither in .venv or venv of the workspace nor on PATH; install it, or set podplan.server.path"
    : "podplan is not on PATH; in a workspace that is not trusted no other program is started";
}

function isInside(file: string, folders: readonly string[]): boolean {
  return folders.some((folder) => {
    const relative = path.relative(folder, file);
    return relative === "" || !(relative === ".." || relative.startsWith(`..${path.sep}`) || path.isAbsolute(relative));
  });
}

async function resolveLinks(file: string): Promise<string> {
  return fs.realpath(file).catch(() => path.resolve(file));
}

async function isExecutable(file: string): Promise<boolean> {
  try {
    await fs.access(file, constants.X_OK);
    return (await fs.stat(file)).isFile();
  } catch {
    return false;
  }
}
