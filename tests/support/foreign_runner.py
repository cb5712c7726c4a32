"""A runner class as others write one, with an option of its own."""

from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.portability.fn_api_runner import FnApiRunner


class ForeignOptions(PipelineOptions):
    @classmethod
    def _add_argparse_args(cls, parser) -> None:
        parser.add_argument("--foreign_slots", type=int, default=1)


class ForeignRunner(FnApiRunner):
    """Beam's own runner, which refuses to run without slots."""

    def run_pipeline(self, pipeline, options):
        slots = options.view_as(ForeignOptions).foreign_slots
        if slots < 1:
            raise ValueError(f"{slots} slots")
        return super().run_pipeline(pipeline, options)
