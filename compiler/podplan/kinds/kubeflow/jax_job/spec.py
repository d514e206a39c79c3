"""The KindSpec of JAXJob."""

from podplan.kinds.kubeflow.jax_job.constants import KIND
from podplan.kinds.kubeflow.spec import build_spec

SPEC = build_spec(KIND, "jaxjobs")
