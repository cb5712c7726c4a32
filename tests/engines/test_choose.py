"""Which engine runs a pipeline, and which of Beam's options it takes."""

import apache_beam as beam
import pytest
from apache_beam.testing.util import assert_that, equal_to

from beamtrawl.runners.engines.beam_runner import BeamEngine
from beamtrawl.runners.engines.choose import BEAM_RUNNERS, engine, notice
from beamtrawl.runners.engines.direct import DirectEngine
from beamtrawl.runners.engines.options import OptionsError, check_options
from beamtrawl.runners.engines.stock import StockEngine
from beamtrawl.runners.terminal.errors import Failure
from tests.support.tables import each_row

FOREIGN = "tests.support.foreign_runner.ForeignRunner"  # by its name only: nothing else imports its module

ACCEPTED = {
    "none": [],
    "of the direct runner": ["--direct_num_workers=2", "--direct_running_mode=multi_processing"],
    "in two words": ["--direct_num_workers", "2"],
    "of a runner that is not used": ["--flink_master=localhost:8081", "--region=europe-west1"],
    "a switch": ["--save_main_session"],
    "several times": ["--experiments=a", "--experiments=b"],
    "what workers install": ["--setup_file", "./setup.py"],
}


@pytest.mark.parametrize("flags", ACCEPTED.values(), ids=ACCEPTED)
def test_what_beam_knows_is_accepted(flags: list[str]) -> None:
    check_options(flags)


# options, what the message names
REFUSED = {
    "unknown": (["--no_such_option=1"], "--no_such_option=1"),
    "misspelt": (["--direct_num_worker=2"], "--direct_num_worker=2"),
    "one of ours": (["--rounds", "3"], "--rounds"),
    "one unknown among known ones": (["--streaming", "--wrong", "--direct_num_workers=2"], "--wrong"),
    "a word": (["stray"], "stray"),
    "a word for a number": (["--direct_num_workers=many"], "'many'"),
    "a number out of nowhere": (["--direct_num_workers"], "--direct_num_workers"),
    "no class of a runner": (["--runner=json.JSONDecoders"], "--runner=json.JSONDecoders"),
    "no module of a runner": (["--runner=no_such_module.Runner"], "--runner=no_such_module.Runner"),
    "no runner of Beam": (["--runner=Walker"], "--runner=Walker"),
    "an option misspelt of a runner of others": ([f"--runner={FOREIGN}", "--foreign_slot=3"], "--foreign_slot"),
    "no choice": (["--direct_running_mode=warp"], "'warp'"),
}


@each_row(REFUSED)
def test_what_beam_does_not_know_is_refused(flags: list[str], named: str) -> None:
    with pytest.raises(OptionsError) as caught:
        engine("direct", None, flags)
    assert named in str(caught.value)
    assert "\n" not in str(caught.value)


def test_direct_is_this_machine_with_as_many_workers_as_asked_for() -> None:
    for chosen in (engine("direct", 3, []), engine("direct", None, ["--direct_num_workers=3"])):
        assert isinstance(chosen, DirectEngine)
        assert chosen.workers == 3
    assert engine("direct", None, []).workers >= 1


def test_with_other_options_of_beam_direct_is_beams_own_runner() -> None:
    chosen = engine("direct", None, ["--direct_running_mode=multi_threading", "--direct_num_workers=2"])
    assert isinstance(chosen, StockEngine)
    assert notice(chosen) == ""


@pytest.mark.parametrize("name", BEAM_RUNNERS)
def test_other_engines_are_beams_own(name: str) -> None:
    assert isinstance(engine(name, 2, ["--region=x", "--temp_location=gs://bucket/tmp"]), BeamEngine)


def test_a_runner_among_beams_options_goes_before_ours() -> None:
    assert isinstance(engine("direct", None, ["--runner=FlinkRunner"]), BeamEngine)
    assert isinstance(engine("spark", None, ["--runner", "apache_beam.runners.direct.DirectRunner"]), BeamEngine)


RUNNING = {
    "in this process": ("direct", 1, []),
    "with workers": ("direct", 2, []),
    "a short step, with as many workers as are worth it": ("direct", None, []),
    "with options of Beam": ("direct", None, ["--direct_running_mode=multi_threading", "--direct_num_workers=2"]),
    "a runner of others, with an option of its own": ("direct", None, [f"--runner={FOREIGN}", "--foreign_slots=3"]),
    "a runner of Beam": ("direct", None, ["--runner=apache_beam.runners.portability.fn_api_runner.FnApiRunner"]),
}


@each_row(RUNNING)
def test_a_pipeline_runs(name: str, workers: int | None, flags: list[str]) -> None:
    def build(pipeline: beam.Pipeline) -> None:
        lengths = pipeline | beam.Create(["cod", "herring", "eel"]) | beam.Map(len)
        assert_that(lengths, equal_to([3, 7, 3]))

    engine(name, workers, flags).run(build, seconds=0.0)


def test_the_options_of_a_runner_of_others_reach_it() -> None:
    def build(pipeline: beam.Pipeline) -> None:
        pipeline | beam.Create([1])

    with pytest.raises(ValueError, match="0 slots"):
        engine("direct", None, [f"--runner={FOREIGN}", "--foreign_slots=0"]).run(build, seconds=0.0)


def test_a_portable_runner_without_a_job_server_is_told_in_one_line() -> None:
    with pytest.raises(Failure, match=r"job server of PortableRunner does not start: .*--job_endpoint"):
        engine("direct", None, ["--runner=PortableRunner"]).run(lambda pipeline: None, seconds=0.0)


def test_a_pipeline_that_fails_raises() -> None:
    def build(pipeline: beam.Pipeline) -> None:
        pipeline | beam.Create([0]) | beam.Map(lambda n: 1 / n)

    with pytest.raises(Exception, match="division by zero"):
        engine("direct", 1, []).run(build, seconds=0.0)
