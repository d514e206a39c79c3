"""What the rest of podplan may ask about JAXJob."""

from podplan.kinds.kubeflow.jax_job.kind import KIND
from podplan.kinds.kubeflow.spec import build_spec

SPEC = build_spec(KIND, "jaxjobs")
