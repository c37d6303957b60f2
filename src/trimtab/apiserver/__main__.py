"""`python -m trimtab.apiserver` is a cluster in the background, which `trimtab cluster up` begins."""

import gc

if __name__ == "__main__":
    gc.disable()  # of all that is imported nothing goes again: whoever serves it looks at the rest only
    from trimtab.apiserver.hosting import serve_as_told

    serve_as_told()
