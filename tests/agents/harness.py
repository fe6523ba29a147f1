"""Records each coding agent once, and replays it strictly in many conditions.

See `run` for how to call it, `recipes.py` for the agents, `conditions.py` for the conditions.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import terminal
from agent_run import AgentRun
from conditions import CHANGES, CLONE, CONDITIONS, INTERCEPTED
from intercepted_run import InterceptedRun
from noise_run import NOISE_HEADER, try_noise
from plans import CONTENT, Script
from recipes import RECIPES, Program, Recipe, read_programs
from table import COLUMNS, Cell, Row, Table, header, read_table, write_table

PROGRAMS = read_programs(Path(__file__).parent / "programs.txt")


def installed(recipe: Recipe) -> list[Program]:
    """Returns the versions of the program that a recipe starts."""
    name = recipe.program or recipe.name
    versions = [program for program in PROGRAMS if program.name.partition("@")[0] == name]
    # Further runs are with the first version only.
    return versions[:1] if recipe.program else versions


def try_agent(recipe: Recipe, program: Program, args: argparse.Namespace, work: Path) -> Row:
    """Records an agent, and replays it in all conditions that were asked for."""
    row = Row(recipe.name, program.version())
    folder = args.programs / program.name
    if (folder / "not-installed").exists():
        row.skipped = (folder / "not-installed").read_text().strip()
    elif recipe.screen and not terminal.HAS_TMUX:
        row.skipped = "tmux is not installed"
    else:
        run = AgentRun(recipe, folder, work, args.loomrec, Script(args.tool))
        run.log.unlink(missing_ok=True)
        for is_inside in (True, False):
            replay_all(run, row, is_inside, args)
        if recipe.interception and INTERCEPTED in args.conditions and not row.is_lost():
            intercepted = InterceptedRun(recipe, folder, work, args.loomrec, Script(args.tool))
            intercepted.log.unlink(missing_ok=True)
            for _ in range(args.times):
                add(row, INTERCEPTED, intercepted.why_red_without_base_url())
            if args.keep is None:
                shutil.rmtree(intercepted.base, ignore_errors=True)
        keep_requests(run, work)
        if args.keep is None:
            shutil.rmtree(run.base, ignore_errors=True)
    return row


def replay_all(run: AgentRun, row: Row, is_inside: bool, args: argparse.Namespace) -> None:
    conditions = [condition for condition in CONDITIONS
                  if condition.is_inside == is_inside and condition.name in args.conditions
                  and not (condition.name == "as-left" and run.script == Script.FILE)]
    changes = [change for change in CHANGES
               if change in args.conditions and is_inside and can_change(run, change)]
    if not conditions and not changes:
        return
    recorded = run.record(run.place(is_inside))
    is_written = recorded.file is not None and recorded.file.strip() == CONTENT.strip()
    if recorded.code != 0 or not is_written or not run.calls:
        row.recorded = f"record: {recorded.reason(run.base)}, hello.txt {recorded.file!r}"
        return
    row.recorded = str(run.calls)
    for condition in conditions:
        for _ in range(args.times):
            add(row, condition.name, run.why_red(condition, recorded))
    # In a clone that is red, everything is missed.
    is_clone_red = bool(row.cells.get(CLONE.name, Cell()).reasons)
    for change in [] if is_clone_red else changes:
        add(row, change, run.why_not_missed(change))


def can_change(run: AgentRun, change: str) -> bool:
    """Whether a change can be tried. aider calls no tool, gptme's prompt has README.md, and results
    of MCP's tools come from the recording."""
    has_result = run.recipe.name not in ("aider", "gptme") and not run.recipe.servers
    return run.recipe.has_changes and (has_result or change != "result")


def add(row: Row, column: str, reason: str) -> None:
    cell = row.cells.setdefault(column, Cell())
    cell.runs += 1
    if reason:
        cell.reasons.append(reason)


def keep_requests(run: AgentRun, work: Path) -> None:
    """Keeps what the upstream received, for a look at what an agent sends."""
    if run.upstream is None:
        return
    folder = work / "requests" / run.base.name
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "requests.jsonl").open("w") as requests:
        for number, (body, (path, headers)) in enumerate(zip(run.upstream.bodies,
                                                             run.upstream.heads)):
            (folder / f"{number}.json").write_bytes(body)
            one = {"path": path, "headers": headers, "body": body.decode(errors="replace")}
            requests.write(json.dumps(one) + "\n")


def chosen(args: argparse.Namespace) -> list[tuple[Recipe, Program]]:
    recipes = [recipe for recipe in RECIPES
               if recipe.interception or args.conditions != [INTERCEPTED]]
    return [(recipe, program) for recipe in recipes for program in installed(recipe)
            if not args.agents or recipe.name in args.agents or program.name in args.agents
            or f"{recipe.name}@{program.version()}" in args.agents]


def try_all(args: argparse.Namespace, work: Path) -> bool:
    """Tries all agents, and prints the table. Returns whether some are good and none is not."""
    print(header(), end="")

    lock = threading.Lock()

    def try_one(pair: tuple[Recipe, Program]) -> Row:
        row = try_agent(*pair, args, work)
        notes = [note.markdown() for note in row.notes()]
        with lock:
            print("\n".join([f"| {' | '.join(row.texts())} |", *notes]), flush=True)
            if args.table:
                put_row(args.table, row)
        return row

    with ThreadPoolExecutor(args.jobs) as pool:
        rows = list(pool.map(try_one, chosen(args)))
    skipped = sum(bool(row.skipped) for row in rows)
    passed = sum(row.is_good() for row in rows)
    print(f"{passed} passed, {len(rows) - passed - skipped} failed, {skipped} skipped")
    # A run of nothing tests nothing.
    return passed > 0 and passed + skipped == len(rows)


def put_row(file: Path, row: Row) -> None:
    """Puts the cells of this row that were tried into the table of a page."""
    table = Table(read_table(file))
    table.put(row)
    order = [(recipe.name, program.version())
             for recipe in RECIPES for program in installed(recipe)]
    write_table(file, table.markdown(order))


def try_noise_of_all(args: argparse.Namespace, work: Path) -> bool:
    """Compares two recordings of each agent. Returns whether some are explained and none is not."""
    print(NOISE_HEADER, end="")
    lines = []
    for recipe, program in chosen(args):
        folder = args.programs / program.name
        if recipe.screen or (folder / "not-installed").exists():
            continue
        lines.append(try_noise(AgentRun(recipe, folder, work, args.loomrec, Script(args.tool))))
        print(lines[-1], flush=True)
    return bool(lines) and not any("NO" in line for line in lines)


def parent_of_homes(programs: Path) -> Path:
    """Returns the folder for the runs: that of the programs, unless others may write to a folder
    above it (a clone in /tmp). Codex and Gemini CLI refuse settings below such a folder."""
    others_may_write = any(folder.stat().st_mode & 0o022 for folder in programs.resolve().parents)
    if not others_may_write:
        return programs
    folder = Path.home() / ".cache" / "loomrec-agents"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tests/agents/run")
    parser.add_argument("agents", nargs="*", metavar="AGENT",
                        help="a name, or NAME@VERSION; all if none is given")
    parser.add_argument("--condition", dest="conditions", action="append", choices=COLUMNS,
                        metavar="CONDITION", help=f"one of {', '.join(COLUMNS)}; can be repeated")
    parser.add_argument("--times", type=int, default=1, help="replays in each condition")
    parser.add_argument("--jobs", type=int, default=1, help="agents at a time")
    parser.add_argument("--keep", help="work in this folder, and keep it")
    parser.add_argument("--table", type=Path, help="put the cells that were tried into the table of this file")
    parser.add_argument("--tool", choices=[Script.SHELL.value, Script.FILE.value],
                        default=Script.SHELL.value, help="the tool that writes the file")
    parser.add_argument("--noise", action="store_true",
                        help="record each agent twice, and let loomrec noise find the rules")
    parser.add_argument("--list", action="store_true", help="print the agents with their versions")
    parser.add_argument("--programs", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--loomrec", required=True, help=argparse.SUPPRESS)
    args = parser.parse_args()
    args.conditions = args.conditions or COLUMNS
    if args.agents and not chosen(args):
        parser.error(f"unknown agents: {', '.join(args.agents)}")
    return args


def main() -> int:
    args = parse_arguments()
    if args.list:
        print("\n".join(f"{recipe.name}@{program.version()}" for recipe, program in chosen(args)))
        return 0
    work = Path(args.keep or tempfile.mkdtemp(prefix="work-", dir=parent_of_homes(args.programs)))
    work.mkdir(parents=True, exist_ok=True)
    work = work.resolve()
    is_good = try_noise_of_all(args, work) if args.noise else try_all(args, work)
    if args.keep is None:
        shutil.rmtree(work, ignore_errors=True)
    return int(not is_good)


if __name__ == "__main__":
    sys.exit(main())
