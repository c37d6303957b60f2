// Helm, once or many times within one process. See package jobs.
package main

import (
	"errors"
	"log/slog"
	"os"
	"sync"
	_ "unsafe" // for what Helm keeps from one run to the next

	"github.com/fatih/color"
	"helm.sh/helm/v4/pkg/cli"
	helm "helm.sh/helm/v4/pkg/cmd"
	"helm.sh/helm/v4/pkg/kube"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // as in Helm's own main package
	"trimtab.dev/renderers/jobs"
)

// What flags have set stays in Helm's settings, and would be the defaults of the next run's flags.
//
//go:linkname settings helm.sh/helm/v4/pkg/cmd.settings
var settings *cli.EnvSettings

// Every root command adds to what is done before any command is run.
//
//go:linkname initializers github.com/spf13/cobra.initializers
var initializers []func()

// Of every name in a schema that it does not know, Helm warns once.
//
//go:linkname warnedURNs helm.sh/helm/v4/pkg/chart/common/util.warnedURNs
var warnedURNs sync.Map

var colorless = color.NoColor

func main() {
	kube.ManagedFieldsManager = "helm"
	jobs.Main(once)
}

func once(arguments []string) int {
	settings, initializers, color.NoColor = cli.New(), nil, colorless
	warnedURNs.Clear()
	command, err := helm.NewRootCmd(os.Stdout, arguments, helm.SetupLogging)
	if err != nil {
		slog.Warn("command failed", slog.Any("error", err))
		return 1
	}
	command.SetArgs(arguments)
	return codeOf(command.Execute())
}

func codeOf(err error) int {
	if err == nil {
		return 0
	}
	if failed, ok := errors.AsType[helm.CommandError](err); ok {
		return failed.ExitCode
	}
	return 1
}
