"""What the rest of podplan may ask about JAXJob."""

from podplan.kinds.kubeflow.jax_job.form import FORM
from podplan.kinds.kubeflow.spec import build_spec

SPEC = build_spec(FORM, "jaxjobs")
