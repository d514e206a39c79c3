"""What the rest of podplan may ask about MPIJob of kubeflow.org/v2beta1."""

from podplan.kinds.spec import KindSpec, ReplicaTypesField

SPEC = KindSpec(
    plural="mpijobs",
    option_prefix="mpi-operator",
    schema="MPIJob-kubeflow-v2beta1",
    replica_types=(ReplicaTypesField(("spec", "mpiReplicaSpecs"), "map"),),
    run_policy_path=("spec", "runPolicy"),
)
