package scenarios

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTheScenariosOfThisProgramCanBeRead(t *testing.T) {
	require.Contains(t, Names(), "default")
	for _, name := range Names() {
		parsed, err := Read(name)
		require.NoError(t, err, name)
		require.Equal(t, name, parsed.Name)
		require.Positive(t, parsed.Extra(), "%s: nothing is warm before it is measured", name)
	}
}

func TestAScenarioIsRead(t *testing.T) {
	parsed, err := parse([]byte(`
managerFlags: [--resync-interval=1m]
sync: true
phases:
- {name: first of all, warm: {kymas: 3}}
- {install: {kymas: 5, oneByOne: true}}
- {edits: {count: 4, every: 1s, whileUpgrading: true}}
- {idle: {for: 2m}, expect: {remoteWrites: 0}}
`))
	require.NoError(t, err)
	require.Equal(t, []string{"--resync-interval=1m"}, parsed.ManagerFlags)
	require.Equal(t, 3, parsed.Extra())
	require.Equal(t, "first of all", parsed.Phases[0].Name)
	require.Equal(t, "install", parsed.Phases[1].Name, "a phase without a name is called what it does")
	require.Equal(t, Install{Kymas: 5, OneByOne: true}, *parsed.Phases[1].Install)
	require.Equal(t, time.Second, parsed.Phases[2].Edits.Every.Duration)
	require.Equal(t, ControlPlane, parsed.Phases[2].Edits.Where)
	require.Equal(t, 2*time.Minute, parsed.Phases[3].Idle.For.Duration)
	require.Zero(t, *parsed.Phases[3].Expect.RemoteWrites)
}

func TestASlipInAScenarioIsAnError(t *testing.T) {
	for text, problem := range map[string]string{
		"phases: []":                                                         "no phases",
		"phases: [{instal: {}}]":                                             "unknown field",
		"phases: [{install: {kyma: 3}}]":                                     "unknown field",
		"phases: [{name: nothing}]":                                          "exactly one thing, this one 0",
		"phases: [{install: {}, upgrade: {}}]":                               "exactly one thing, this one 2: [install upgrade]",
		"phases: [{warm: {}}]":                                               "kymas is at least 1",
		"phases: [{install: {kymas: -1}}]":                                   "not negative",
		"phases: [{idle: {}}]":                                               "for is missing",
		"phases: [{blackHole: {share: 1}}]":                                  "between 0 and 1",
		"phases: [{edits: {count: 1}}]":                                      "sync: true",
		"phases: [{restart: {edits: 1}}]":                                    "sync: true",
		"phases: [{upgrade: {modules: -1}}]":                                 "modules is not negative",
		"sync: true\nphases: [{edits: {}}]":                                  "at least 1",
		"phases: [{edits: {count: 1, where: here}}]":                         "controlPlane or remote",
		"phases: [{install: {}, expect: {remoteWrites: 0, remoteReads: 0}}]": "unknown field",
		"phases: [{install: {}}, {upgrade: {}, expect: {}, delete: {}}, {}]": "phase 2",
	} {
		_, err := parse([]byte(text))
		require.ErrorContains(t, err, problem, text)
	}
}
