"""Why: from facts to the chain of causes, from a commit down to a pod.

    answer = await explain(open_apps(access, settings, path=path, who=who), "shop", namespace="", clock=clock)
    print(answer_text(answer))

`gathering` reads; everything else decides: `causes` is the table, one small function per cause.
"""

from trimtab.app.why.gathering import explain

__all__ = ["explain"]
