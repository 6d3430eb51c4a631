//! A repository's labels and milestones, changed.

use http::Method;
use serde_json::{Map, Value};

use super::api::Api;
use super::error::Error;
use super::model::{Label, Milestone};
use super::place::Repo;

impl Api<'_> {
    pub(crate) async fn create_label(
        &self,
        repo: &Repo,
        fields: Map<String, Value>,
    ) -> Result<Label, Error> {
        let answer = self.post(&repo.path(&["labels"])?, &Value::Object(fields)).await?;
        read(Label::read(&answer.value))
    }

    pub(crate) async fn update_label(
        &self,
        repo: &Repo,
        name: &str,
        fields: Map<String, Value>,
    ) -> Result<Label, Error> {
        let answer = self.patch(&repo.path(&["labels", name])?, &Value::Object(fields)).await?;
        read(Label::read(&answer.value))
    }

    pub(crate) async fn delete_label(&self, repo: &Repo, name: &str) -> Result<(), Error> {
        self.request(Method::DELETE, &repo.path(&["labels", name])?, None).await.map(drop)
    }

    pub(crate) async fn create_milestone(
        &self,
        repo: &Repo,
        fields: Map<String, Value>,
    ) -> Result<Milestone, Error> {
        let answer = self.post(&repo.path(&["milestones"])?, &Value::Object(fields)).await?;
        read(Milestone::read(&answer.value))
    }

    pub(crate) async fn update_milestone(
        &self,
        repo: &Repo,
        number: u64,
        fields: Map<String, Value>,
    ) -> Result<Milestone, Error> {
        let path = repo.path(&["milestones", &number.to_string()])?;
        let answer = self.patch(&path, &Value::Object(fields)).await?;
        read(Milestone::read(&answer.value))
    }

    pub(crate) async fn delete_milestone(&self, repo: &Repo, number: u64) -> Result<(), Error> {
        let path = repo.path(&["milestones", &number.to_string()])?;
        self.request(Method::DELETE, &path, None).await.map(drop)
    }
}

fn read<T>(item: Option<T>) -> Result<T, Error> {
    item.ok_or_else(|| Error::Unconfirmed { cause: "the answer does not hold it".to_owned() })
}
