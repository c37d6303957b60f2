module trimtab.dev/renderers/jobs

go 1.26.8
