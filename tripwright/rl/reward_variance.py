"""What Lemma 2 of Planner-R1 needs, measured (row P16, App. G): the variance of the dense and of
the sparse reward at the start of a run.

For one prompt u, with τ drawn from the first policy, let

    X = r_schema · r_pass                                          the sparse reward r⁽³⁾
    Z = r_schema · (cs_micro + hard_micro + cs_macro + hard_macro)   the auxiliary part, so that the
    dense reward is r⁽¹⁾ = X + Z

Then Var[X + Z] = Var[X] + Var[Z] + 2·Cov[X, Z], exactly, and therefore

    Var[r⁽¹⁾] ≥ Var[r⁽³⁾]   if and only if   2·Cov[X, Z] ≥ −Var[Z].

The paper's assumption (b), Cov[X, Z] ≥ 0, is sufficient and not necessary. (It writes Cov[Z,
r_pass]; with r_schema in both it is the same number, because an answer that breaks the schema
passes nothing.) Its figures are means over prompts, and so are ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def variances(groups: Iterable[Sequence[tuple[float, float]]]) -> dict[str, float]:
    """From (dense, sparse) reward of each prompt's rollouts, unscored ones left out: means over
    prompts, in squared reward, of the unbiased (n - 1) estimates within each prompt's group.

        dense_variance      Var[X + Z]
        sparse_variance     Var[X]
        covariance          Cov[X, Z]; Var[Z] is dense_variance - sparse_variance - 2 · covariance

    A group of one says nothing about a variance and is left out; with no group left the answer is
    empty.
    """
    estimates = [_within(group) for group in groups if len(group) > 1]
    columns = [sum(column) / len(estimates) for column in zip(*estimates, strict=True)]
    return (
        dict(zip(("dense_variance", "sparse_variance", "covariance"), columns, strict=True))
        if estimates
        else {}
    )


def _within(group: Sequence[tuple[float, float]]) -> tuple[float, float, float]:
    dense, sparse = [d for d, _ in group], [s for _, s in group]
    auxiliary = [d - s for d, s in group]
    return _covariance(dense, dense), _covariance(sparse, sparse), _covariance(sparse, auxiliary)


def _covariance(a: Sequence[float], b: Sequence[float]) -> float:
    mean_a, mean_b = sum(a) / len(a), sum(b) / len(b)
    return sum((x - mean_a) * (y - mean_b) for x, y in zip(a, b, strict=True)) / (len(a) - 1)
