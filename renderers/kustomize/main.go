// Kustomize, once or many times within one process. See package jobs.
package main

import (
	"sigs.k8s.io/kustomize/kustomize/v5/commands"
	"sigs.k8s.io/kustomize/kyaml/openapi"
	"trimtab.dev/renderers/jobs"
)

func main() {
	jobs.Main(once)
}

func once(arguments []string) int {
	// A kustomization that brings schemas of its own must not leave them to the next, nor the usual ones to itself.
	openapi.ResetOpenAPI()
	command := commands.NewDefaultCommand()
	command.SetArgs(arguments)
	if command.Execute() != nil {
		return 1
	}
	return 0
}
