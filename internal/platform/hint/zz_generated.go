// Code generated from docs/operating.md by make generate. DO NOT EDIT.

package hint

func ofReason(reason string) string {
	switch reason {
	case "AccessSecretNotFound":
		return "create it in the Kyma's namespace (or in --access-secret-namespace); it is taken up at once"
	case "AccessSecretAmbiguous":
		return "keep one; with Kymas of one name in several namespaces, put each Secret into its Kyma's namespace"
	case "KubeconfigRejected":
		return "fix the Secret: no plugins, files, proxies; https, certificates and tokens inline"
	case "UnreachableNetwork":
		return "see whether the cluster is there; it is probed in every pass of the sweep"
	case "UnreachableTimeout":
		return "see whether the cluster is there; it is probed in every pass of the sweep"
	case "UnreachableTLS":
		return "put the cluster's present authority into the Secret; make sure that it is still that cluster"
	case "UnreachableUnauthorized":
		return "renew the Secret"
	case "UnreachableForbidden":
		return "give the user of the kubeconfig the right; it is retried after growing waits of up to a day, or at once with reconcile"
	case "UnreachableServerFailed":
		return "see to its etcd and its load"
	case "UnreachableResponseTooLarge":
		return "find what fills the cluster, such as a resource kind with huge objects"
	case "ConversionFailed":
		return "repair the webhook, often the module's own operator; or, if the objects may be read as they are stored, switch the conversion of the CustomResourceDefinition off (strategy None)"
	case "ControlPlaneAccess":
		return "give it the kubeconfig of the remote cluster; or, if that is wanted, set --allow-control-plane-modules"
	case "ClusterChanged":
		return "give back the access to the former cluster; where it was replaced on purpose, nothing: the next synchronization records the new one; where the Kyma is being deleted and the former cluster is gone, wait for the purge, or ask for it: the Event PurgeAbandoned says what remains"
	case "SyncOntoItself":
		return "set spec.sync.namespace to another namespace"
	case "RemoteKymaClaimed":
		return "give one of the two another cluster, name or namespace; the remote Kyma's annotation operator.kyma-project.io/synced-from names the other one"
	case "RemoteKymaInvalid":
		return "its owner corrects the remote Kyma, whose status says the same"
	case "RemoteKymaDeleting":
		return "have those finalizers removed"
	case "RemoteKymaNotMoved":
		return "the message says what is in the way"
	case "DefinitionNotSynced":
		return "see the message: rights, or a CRD of somebody else"
	case "CatalogNotSynced":
		return "see the message: rights, or a CRD of somebody else"
	case "RemoteTemplateNotImported":
		return "see the module's message"
	case "EditIgnored":
		return "edit the Kyma in the remote cluster, or set spec.sync, so that both count"
	case "ImagePullSecretNotFound":
		return "create it, or correct the flag"
	case "UpstreamAgentNotRemoved":
		return "see the message: the rights of the account there"
	case "ImagePullSecretNotSynced":
		return "see the message: rights, or a Secret of somebody else in its place"
	case "RuntimeIDMissing":
		return "label the Kyma, with a value that no other has"
	case "AuthoritiesPending":
		return "nothing at the first start, where it takes seconds; else see the details of the workflow certificates in Temporal"
	case "CertificateNameTaken":
		return "give one of the two another name: of Kymas of one name, only one can have an agent"
	case "CertificateWithoutAuthority":
		return "configure an issuer with a certificate authority of its own"
	case "CertificateRefused":
		return "allow it in the namespace of --istio-namespace"
	case "IssuerNotInstalled":
		return "install their controller, or choose another --cert-management"
	case "AuthoritiesUnreadable":
		return "restore it; or delete it: whom the listener trusts stays trusted, and another authority is made"
	case "AgentCertificateRefused":
		return "delete the other one, or see which policy refuses it"
	case "AgentNotSynchronized":
		return "see the message: rights, or the cluster's answer; it is retried"
	case "InvalidAgent":
		return "correct --skr-webhook-memory-limits and --skr-webhook-cpu-limits; do not write RemoteAgents manually"
	case "ModuleNotFound":
		return "correct the entry, or publish the module"
	case "NoVersionForChannel":
		return "choose another channel, or add it"
	case "ModuleTemplateNotFound":
		return "publish the ModuleTemplate <module>-<version>"
	case "ModuleAmbiguous":
		return "name one by namespace and name, or take the others away"
	case "ModuleMandatory":
		return "take the entry out"
	case "ModuleNotAllowed":
		return "label the Kyma, or take the entry out"
	case "DowngradeRefused":
		return "publish a newer version, remove and add the module, or allow it by the annotation operator.kyma-project.io/allow-downgrade: \"true\" on the Kyma"
	case "DuplicateComponent":
		return "take one out"
	case "ComponentChanged":
		return "remove and add the module"
	case "TargetChanged":
		return "remove and add the module"
	case "SyncDisabled":
		return "switch it on, or take the module out"
	case "ControlPlaneTargetNotAllowed":
		return "set --allow-control-plane-modules, if that is wanted"
	case "SharedModuleVersion":
		return "agree on one version"
	case "InvalidDescriptor":
		return "publish it again: module lint"
	case "SignatureRefused":
		return "see signatures"
	case "UnsupportedLayer":
		return "publish it with raw manifests or a Helm chart"
	case "InvalidDefaultCR":
		return "publish it again"
	case "DescriptorUnavailable":
		return "check registry and credentials; it is retried"
	case "ManifestNameCollision":
		return "rename one"
	case "TooManyModules":
		return "take modules out, or wait until those that are being removed are gone"
	case "KymaNameTooLong":
		return "give the Kyma a shorter name"
	case "InvalidReference":
		return "publish the module again"
	case "RegistryNotAllowed":
		return "publish the module in one of those that the message lists, or allow this one"
	case "LayerNotFound":
		return "push it again: the registry is asked again within a minute"
	case "DescriptorNotFound":
		return "push it again: the registry is asked again within a minute; or fix the release meta"
	case "DigestMismatch":
		return "find out who changed it: nothing of it was used; the registry is asked again within a minute"
	case "LayerTooLarge":
		return "make it smaller"
	case "InvalidManifest":
		return "publish the module again"
	case "InvalidChart":
		return "the message has Helm's words"
	case "Unsupported":
		return "publish it as raw manifests"
	case "RegistryUnavailable":
		return "check that the registry runs and that the workers reach it: DNS, egress, proxy, its certificate; the registry is asked again within a minute of its return"
	case "RegistryUnauthorized":
		return "renew the Secret of --oci-registry-cred-secret; it is read again by itself"
	case "SecretNotInjected":
		return "create it in the control plane, with the label operator.kyma-project.io/module-name and the module's name; the sweep tries again in each pass"
	case "RendererFailed":
		return "the message says which; it is retried"
	case "ResourcesPending":
		return "wait, or see to those objects"
	case "ResourcesFailed":
		return "see the named objects"
	case "WorkloadStuck":
		return "see those pods. With ImagePullBackOff it is the image; with OOMKilled a container needs more memory; with Unschedulable no node takes the pod: add nodes, or lower its requests"
	case "ManagerPending":
		return "see that workload"
	case "ModuleCRPending":
		return "see the module's operator"
	case "ModuleCRDeleting":
		return "wait until it is deleted, or remove the module"
	case "ModuleCRError":
		return "see its status"
	case "ModuleCRWarning":
		return "see its status"
	case "ModuleCRRemoved":
		return "operator.kyma-project.io/recreate-default-cr on the Kyma brings it back"
	case "ModuleCRGone":
		return "find who deletes it"
	case "DefaultCRInvalid":
		return "publish the module with one that fits its CRD; what a quota, a webhook or a policy refused is retried after growing waits of up to 15 minutes"
	case "ApplyFailed":
		return "publish the module again with what the message asks for, or give Lifecycle Manager's account in the cluster the right that it misses; it is retried after growing waits of up to 15 minutes"
	case "FieldImmutable":
		return "publish a version with another name for the object, or delete the object in the cluster: it is created again. With the annotation operator.kyma-project.io/replace on the object, Lifecycle Manager deletes and creates it itself"
	case "NotAdmitted":
		return "whoever runs that cluster changes what refuses them, such as the quota; nothing has to be published again: it is retried after growing waits of up to 15 minutes"
	case "AdmissionWebhookFailed":
		return "repair the webhook, often another module's operator, or delete its configuration if its operator is gone; it is retried after growing waits of up to 15 minutes"
	case "NamespaceTerminating":
		return "wait until it is gone: it is created again; if it stays, see its conditions for what holds it"
	case "MissingAPI":
		return "install what brings the kind, or mark the object optional"
	case "StoredVersions":
		return "migrate those custom resources first"
	case "HookPending":
		return "wait, or see its Job"
	case "HookFailed":
		return "see its Job"
	case "FieldConflict":
		return "make the two agree"
	case "ResourcesRecreated":
		return "find what does it: a clean-up policy, an owner reference to an object that does not exist, a controller; the cluster's audit log names it"
	case "ResourcesTerminating":
		return "see to the controller of that finalizer; the object is created again once it is gone"
	case "InvalidStateCheck":
		return "publish the module with one that is"
	case "NotOwnedByKyma":
		return "do not write Manifests manually; where its Kyma is gone for good, remove what remains of it, then its finalizers"
	case "NotPlanned":
		return "find out who wrote the Manifest, and change the Kyma, the ModuleTemplate or the ModuleReleaseMeta instead"
	case "NotSigned":
		return "sign the component version, or publish a signed one"
	case "SpecEdited":
		return "change the Kyma, the ModuleTemplate or the ModuleReleaseMeta; to try something manually, label the Manifest skip-reconciliation and change the objects in the cluster"
	case "InvalidManifestSpec":
		return "do not write Manifests manually"
	case "TooManyObjects":
		return "split the module"
	case "Skipped":
		return "take the label off when ready"
	case "WaitingForModuleCR":
		return "see the module's operator"
	case "BlockedByModuleCRs":
		return "delete them, keep the module, or allow their loss by the annotation operator.kyma-project.io/delete-user-data"
	case "WaitingForResources":
		return "see their finalizers"
	case "ManifestsNotDeleted":
		return "the message names them and says why: fix what refuses it; it is retried after growing waits of up to 15 minutes"
	case "Error":
		return "see the log"
	case "KymaWarning":
		return "see the module"
	case "KymaError":
		return "see the message"
	case "ModuleWarning":
		return "see its message"
	case "ModuleError":
		return "see its message"
	case "OrphanDeleted":
		return "remove them manually, where they are not wanted"
	case "ManifestNotPlanned":
		return "find out who may write Manifests; list the module in the Kyma instead"
	case "SpecRestored":
		return "change the Kyma, the ModuleTemplate or the ModuleReleaseMeta instead"
	case "RemovalUpgradeFailed":
		return "publish one that can, or take the finalizer off the default custom resource"
	case "RemovalHeld":
		return "undo what removes the modules, or approve it in the RemovalBudget"
	case "DriftCorrected":
		return "find who changes them, if it happens again"
	case "DriftConflict":
		return "make the two agree"
	case "NotPruned":
		return "repair the API that the message names, or delete its APIService"
	case "UserDataBlocksRemoval":
		return "delete them, keep the module, or allow their loss by the annotation operator.kyma-project.io/delete-user-data"
	case "ReleasedWithoutCluster":
		return "look for what remains of the module there, if the cluster comes back"
	case "UpstreamCertificateLeft":
		return "delete the Certificate and the Secret of that name, or allow it in --istio-namespace"
	case "RemoteChangesUndone":
		return "find what does it: a controller, an admission policy or webhook, or a definition that was edited and prunes"
	case "UnknownObject":
		return "delete it, if nobody needs it"
	case "PurgeGracePeriodInvalid":
		return "correct it"
	case "Purged":
		return "see what its finalizers were for"
	case "PurgeAbandoned":
		return "clean it up manually, if the cluster comes back"
	case "WatcherGatewayNotFound":
		return "label a Gateway, or correct the selector; it is taken up at once"
	case "WatcherPathTaken":
		return "give one of the two another spec.manager, or both the same Service"
	case "WatcherNameTaken":
		return "rename one of the two"
	case "WatcherInvalid":
		return "correct the field"
	case "WatcherNotRouted":
		return "leave out spec.manager, or route by Istio"
	case "WatcherRefused":
		return "see to the rights of Lifecycle Manager, or to what the admission webhook says"
	case "VirtualServiceRemoving":
		return "whoever set these finalizers must take them off"
	case "ListenerAddressUnknown":
		return "create it, with a host that is no wildcard"
	case "RolloutHeld":
		return "repair the clusters, give the channel another version, or set spec.acceptFailures, spec.skipAnalysis, spec.revert or spec.abort of the ModuleRollout"
	case "PromotionEnded":
		return "give the channel the version yourself, if it is to have it"
	case "VersionNotApplied":
		return "look at the status of the Kyma"
	case "NotSettled":
		return "look at the status of the Manifest; a longer settleWithin may fit the module better"
	case "NoPrometheus":
		return "set --rollout-prometheus-url"
	case "NothingSelected":
		return "correct modules, selector or channels, or delete the policy"
	default:
		return ""
	}
}
