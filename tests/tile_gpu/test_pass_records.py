"""The records of the passes over tile_gpu: their order, the states that they need, and what they share."""

from __future__ import annotations

from pathlib import Path

import pytest
from gpu_text import MATMUL, kernel

import tilec as ct
from tilec.commands.command_line import main
from tilec.compile_options import DEFAULTS, CompileOptions
from tilec.dialect.mlir import ir
from tilec.errors import UnsupportedError
from tilec.lowering.gpu import kernel_pass
from tilec.lowering.gpu.kernel_pass import Context, State
from tilec.lowering.gpu.pass_records import RECORDS
from tilec.lowering.gpu.passes import HEURISTICS, PASSES, run, run_pass
from tilec.lowering.target import TARGETS
from tilec.text_input.stage_module import read_stage_module

NAMES = [record.name for record in RECORDS]
# In the order of a compile: tests that leave some out put them back last.
HEURISTIC_NAMES = list(HEURISTICS)
EVERY = [*RECORDS, *HEURISTICS.values()]


@pytest.mark.parametrize("record", EVERY, ids=lambda record: record.name)
def test_passes_that_a_pass_follows_precede_it(record: kernel_pass.KernelPass) -> None:
    names = HEURISTIC_NAMES if record.name in HEURISTICS else NAMES
    assert all(names.index(name) < names.index(record.name) for name in record.after)


def test_passes_that_were_left_out_and_put_back_keep_their_places(monkeypatch: pytest.MonkeyPatch) -> None:
    def names_of_run() -> list[str]:
        found = list[str]()
        run(kernel(MATMUL), target="sm_100a", observe=lambda name, module: found.append(name))
        return found

    expected = names_of_run()
    monkeypatch.delitem(PASSES, "assign-roles")
    monkeypatch.delitem(HEURISTICS, "emulate-exponentials")
    monkeypatch.undo()
    assert names_of_run() == expected


@pytest.mark.parametrize("record", EVERY, ids=lambda record: record.name)
def test_a_record_is_complete(record: kernel_pass.KernelPass) -> None:
    assert record.run.__module__.endswith(f".{record.name.replace('-', '_')}")
    assert record.summary
    assert record.guarantees and record.without
    assert record.option is None or isinstance(getattr(DEFAULTS, record.option), bool)


@pytest.mark.parametrize("record", EVERY, ids=lambda record: record.name)
def test_a_pass_that_needs_one_role_refuses_several(record: kernel_pass.KernelPass) -> None:
    module = kernel(MATMUL)
    run_pass(module, "partition-roles", target="sm_100a")
    if State.UNDIVIDED not in record.needs:
        run_pass(module, record.name, target="sm_100a")
        return
    with pytest.raises(UnsupportedError) as caught:
        run_pass(module, record.name, target="sm_100a")
    assert caught.value.message == (
        f"pass '{record.name}' needs a kernel with one role: run the pass before partition-roles"
    )


def test_a_pass_that_needs_channels_refuses_placed_tiles() -> None:
    body = """
    %zero = arith.constant 0 : i32
    %map = tile_gpu.make_tensor_map "f16" %base[%n, %n] strides [%n] box [64, 128] swizzle 128B fill zero
    %q = tile_gpu.load_tile %map[%zero, %zero] : buffer<128x64xf16, shared, contiguous=1 swizzle=128B>
    """
    module = read_stage_module(f'tile_gpu.kernel @k(%base: i64, %n: i32) target "sm_100a" warps 4 {{{body}}}', "k.mlir")
    with pytest.raises(UnsupportedError, match="'pipeline' needs a kernel with no placed tiles: run make-channels"):
        run_pass(module, "pipeline", target="sm_100a")


def test_a_pass_that_needs_expanded_loops_refuses_schedules() -> None:
    text = (Path(__file__).parents[1] / "gpu" / "schedules" / "expand_schedules.mlir").read_text()
    module = read_stage_module(text, "k.mlir")
    with pytest.raises(UnsupportedError, match="needs a kernel with no schedules: run expand-schedules first"):
        run_pass(module, "fill-accumulators", target="sm_100a")


def context_of(module: ir.Module, **options: object) -> tuple[Context, ir.OpView]:
    (found,) = module.body.operations
    return Context.of(found, TARGETS["sm_100a"], CompileOptions.of(options), []), found


def test_a_plan_is_made_once_until_the_kernel_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[ir.OpView] = []
    original = kernel_pass.shared_plan
    monkeypatch.setattr(kernel_pass, "shared_plan", lambda *given: made.append(given[0]) or original(*given))
    module = kernel(MATMUL)
    context, found = context_of(module)
    assert context.plan(found) is context.plan(found) and len(made) == 1
    context.changed()
    context.plan(found)
    assert len(made) == 2


@pytest.mark.parametrize(("option", "stages"), [({}, 3), ({"stages": 5}, 5)])
def test_hints_of_a_kernel_replace_options_that_are_not_set(option: dict[str, int], stages: int) -> None:
    module = kernel(MATMUL)
    with module.context:
        number = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), 3)
        module.body.operations[0].operation.attributes["tilec.stages"] = number
        context, _ = context_of(module, **option)
    assert context.options.stages == stages


def written(tmp_path: Path) -> str:
    path = tmp_path / "k.gpu.raw.mlir"
    path.write_text(str(kernel(MATMUL)))
    return str(path)


def test_modules_after_passes_are_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["opt", written(tmp_path), "--passes", "gpu", "--print-after", "pipeline,partition-roles"]) == 0
    shown = capsys.readouterr().err
    assert [line for line in shown.splitlines() if line.startswith("// after")] == [
        "// after partition-roles",
        "// after pipeline",
    ]
    assert "tile_gpu.roles" in shown.split("// after pipeline")[0]


def test_passes_are_timed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["opt", written(tmp_path), "--passes", "gpu", "--time-passes"]) == 0
    lines = capsys.readouterr().err.splitlines()
    unit = {record.name for record in EVERY if not record.unit}
    assert unit <= {line.split()[0] for line in lines} and all(" ms" in line for line in lines)


def test_an_unknown_pass_is_not_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["opt", written(tmp_path), "--print-after", "deepen"]) == 2
    assert "unknown pass 'deepen': expected all, or one of canonicalize, cse, " in capsys.readouterr().err


def test_changes_of_passes_are_dumped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEC_DUMP", str(tmp_path / "dump"))
    ct.compile(written(tmp_path), stop="gpu")
    (path,) = (tmp_path / "dump").rglob("*.gpu.passes.diff")
    text = path.read_text()
    changes = [line.removeprefix("+++ after ") for line in text.splitlines() if line.startswith("+++ ")]
    assert changes == sorted(changes, key=NAMES.index) and {"partition-roles", "pipeline"} <= set(changes)
    assert "\n+    tile_gpu.roles" in text or "\n+  tile_gpu.roles" in text
